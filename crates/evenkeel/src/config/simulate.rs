//! Scenarios of `evenkeel simulate`: `examples/scenarios/*.toml` show every key.

use super::control::{memory, named, size, with_memory};
use super::fields::{Fields, list};
use super::lines::{at_key, located};
use anyhow::{Context, Result, anyhow, bail};
use evenkeel_core::Nanos;
use evenkeel_core::control::plant::{Curve, Fall, MEASURED, Measured, Plant, Rise, Shift};
use evenkeel_core::control::simulation::{Expect, Load, Phase, Scenario};
use evenkeel_core::control::{Bounds, ControllerSettings, search};
use evenkeel_core::random::Seed;
use std::path::Path;
use toml::{Table, Value};

/// A scenario, its controller and what is expected of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioFile {
    /// The name of the scenario.
    pub name: String,
    /// The controller that is tried, with its settings.
    pub controller: ControllerSettings,
    /// What is simulated.
    pub scenario: Scenario,
    /// What is expected of the controller.
    pub expect: Vec<Expect>,
}

/// What flags set in place of what the file says.
#[derive(Clone, Debug, Default)]
pub struct Instead {
    /// Name of the controller.
    pub controller: Option<String>,
    /// Seed of all that is drawn.
    pub seed: Option<u64>,
}

/// Longest scenario; a whole night is the longest that is of use.
const LONGEST: Nanos = Nanos::from_secs(48 * 3_600);

/// Reads a scenario.
///
/// # Errors
/// Names the file, the entry and what to do.
pub fn load(path: &Path, instead: &Instead) -> Result<ScenarioFile> {
    let file = path.display().to_string();
    let text = super::file::text(path).with_context(|| format!("cannot read scenario {file}"))?;
    let table: Table = text.parse().map_err(|error| anyhow!("{file}: {error}"))?;
    read(table, instead).map_err(|error| located(&file, &text, &error))
}

fn read(table: Table, instead: &Instead) -> Result<ScenarioFile> {
    let mut fields = Fields::new("scenario", table);
    let name = fields.required("name")?;
    let controller: Option<String> = fields.optional("controller")?;
    let initial_limit = count(&mut fields, "initial-limit")?.unwrap_or(8);
    let max_limit = count(&mut fields, "max-limit")?.unwrap_or(1_024);
    let memory = memory(&mut fields)?;
    let seed = Seed(instead.seed.or(fields.optional("seed")?).unwrap_or(1));
    let tick = fields.time("tick")?.unwrap_or(Nanos::from_millis(50));
    let duration = fields.time("duration")?.unwrap_or(Nanos::from_secs(60));
    let plants: Vec<Value> = fields.required("plant")?;
    let loads: Vec<Value> = fields.required("load")?;
    let expects: Vec<Value> = fields.optional("expect")?.unwrap_or_default();
    fields.finish()?;
    if tick < Nanos::from_millis(1) || duration < tick || duration > LONGEST {
        let key = if tick < Nanos::from_millis(1) { "tick" } else { "duration" };
        let words = "`tick` must be at least 1ms and `duration` between a tick and 48h";
        return Err(at_key("scenario", key, words.to_owned()));
    }
    let plants = plants.into_iter().enumerate().map(|(place, value)| plant(place + 1, value));
    let plants: Vec<(String, Plant)> = plants.collect::<Result<_>>()?;
    let phases = loads.into_iter().enumerate().map(|(place, value)| phase(place + 1, value, &plants));
    let phases: Vec<Phase> = phases.collect::<Result<_>>()?;
    if phases.is_empty() {
        bail!("scenario: `load` is empty; say who asks for transactions by [[load]] with `clients`");
    }
    let bounds = Bounds { initial: initial_limit, range: (1, max_limit) };
    let name = instead.controller.as_ref().or(controller.as_ref()).map_or("evenkeel", String::as_str);
    let controller = with_memory(named(name, bounds)?, memory);
    let expects = expects.into_iter().enumerate().map(|(place, value)| expect(place + 1, value, duration));
    let expect = expects.collect::<Result<_>>()?;
    let plants = plants.into_iter().map(|(_, plant)| plant).collect();
    let scenario = Scenario { plants, load: Load::new(phases), tick, duration, initial_limit, seed };
    Ok(ScenarioFile { name, controller, scenario, expect })
}

/// A controller with the parameters that the search found.
pub fn fitted(name: &str) -> Result<ControllerSettings> {
    search::fitted(name).ok_or_else(|| {
        anyhow!("`{name}` has no fitted parameters; those of {} were searched", list(&search::SEARCHED))
    })
}

fn plant(number: usize, value: Value) -> Result<(String, Plant)> {
    let mut fields = Fields::of(format!("plant {number}"), value)?;
    let name: Option<String> = fields.optional("name")?;
    let name = name.unwrap_or_else(|| number.to_string());
    fields.rename(format!("plant `{name}`"));
    let mut plant = match fields.optional::<String>("measured")? {
        Some(measured) => measured_plant(fields.entry(), &measured)?,
        None => Plant::new(curve(&mut fields)?, positive(&mut fields, "peak-per-s")?),
    };
    plant.floor = fields.optional("floor")?.unwrap_or(plant.floor);
    plant.settle_s = fields.time("settle")?.map_or(0.0, Nanos::as_secs_f64);
    plant.wobble = fields.optional("wobble")?.unwrap_or(0.0);
    plant.cost = fields.optional("cost")?.unwrap_or(1.0);
    plant.memory = plant_memory(&mut fields)?;
    plant.sensors = fields.optional::<Value>("sensors")?.is_some_and(|value| value == Value::Boolean(true));
    plant.shift = match fields.optional::<Value>("shift")? {
        Some(value) => Some(shift(format!("{}, shift", fields.entry()), value)?),
        None => None,
    };
    fields.finish()?;
    Ok((name, plant))
}

/// Memory of a plant under the key `memory`: what is free, and what each transaction takes.
fn plant_memory(fields: &mut Fields) -> Result<Option<(f64, f64)>> {
    let entry = format!("{}, memory", fields.entry());
    let Some(table) = fields.optional::<Value>("memory")? else { return Ok(None) };
    let mut fields = Fields::of(entry, table)?;
    let (free, each) = (size(&mut fields, "free")?, size(&mut fields, "each")?);
    fields.finish()?;
    Ok(Some((free, each)))
}

fn measured_plant(entry: &str, name: &str) -> Result<Plant> {
    let names = MEASURED.map(|measured| measured.name);
    Measured::named(name)
        .map(Measured::plant)
        .ok_or_else(|| anyhow!("{entry}: no measured curve `{name}`, known are {}", list(&names)))
}

fn curve(fields: &mut Fields) -> Result<Curve> {
    let kind: String = fields.required("curve")?;
    Ok(match kind.as_str() {
        "linear" => Curve::Linear { knee: positive(fields, "best")? },
        "usl" => Curve::Usl { sigma: fields.required("sigma")?, kappa: positive(fields, "kappa")? },
        "peaked" => {
            let peak = positive(fields, "best")?;
            let rise = Rise { bend: fields.optional("bend")?.unwrap_or(1.0) };
            Curve::peaked(peak, rise, fall(fields)?)
        }
        "two-bottlenecks" => Curve::TwoBottlenecks {
            first: positive(fields, "first")?,
            slope: positive(fields, "slope")?,
            peak: positive(fields, "best")?,
            fall: fall(fields)?,
        },
        other => bail!(
            "{}: unknown curve `{other}`, known are `linear`, `usl`, `peaked`, `two-bottlenecks`, or name a `measured` one",
            fields.entry()
        ),
    })
}

fn fall(fields: &mut Fields) -> Result<Fall> {
    let kind: String = fields.required("fall")?;
    Ok(match kind.as_str() {
        "locks" | "power" => Fall::Power {
            exponent: positive(fields, "exponent")?,
            floor: fields.optional("fall-floor")?.unwrap_or(0.05),
            by_locks: kind == "locks",
        },
        "shelf" => Fall::Shelf {
            start: positive(fields, "shelf-start")?,
            end: positive(fields, "shelf-end")?,
            height: positive(fields, "height")?,
        },
        "cliff" => Fall::Cliff { edge: positive(fields, "edge")?, height: positive(fields, "height")? },
        other => {
            bail!("{}: unknown fall `{other}`, known are `locks`, `power`, `shelf`, `cliff`", fields.entry())
        }
    })
}

fn shift(entry: String, value: Value) -> Result<Shift> {
    let mut fields = Fields::of(entry, value)?;
    let shift = Shift {
        at_s: fields.time("at")?.unwrap_or(Nanos::ZERO).as_secs_f64(),
        factor: positive(&mut fields, "factor")?,
        over_s: fields.time("over")?.unwrap_or(Nanos::ZERO).as_secs_f64(),
    };
    fields.finish()?;
    Ok(shift)
}

fn phase(number: usize, value: Value, plants: &[(String, Plant)]) -> Result<Phase> {
    let mut fields = Fields::of(format!("load {number}"), value)?;
    let at = fields.time("at")?.unwrap_or(Nanos::ZERO);
    let clients = fields.required::<u64>("clients")?.try_into().unwrap_or(u32::MAX).min(1_000_000);
    let think_s = fields.time("think")?.unwrap_or(Nanos::ZERO).as_secs_f64();
    let slow = fields.optional::<u64>("slow")?.unwrap_or(0).try_into().unwrap_or(u32::MAX);
    let paused = fields.optional::<Value>("paused")?.is_some_and(|value| value == Value::Boolean(true));
    let plant = match fields.optional::<String>("plant")? {
        None => 0,
        Some(name) => plants.iter().position(|(known, _)| *known == name).ok_or_else(|| {
            let names: Vec<&str> = plants.iter().map(|(name, _)| name.as_str()).collect();
            anyhow!("load {number}: no plant `{name}`, known are {}", list(&names))
        })?,
    };
    fields.finish()?;
    Ok(Phase { at, clients, think_s, slow, paused, plant })
}

fn expect(number: usize, value: Value, duration: Nanos) -> Result<Expect> {
    let mut fields = Fields::of(format!("expect {number}"), value)?;
    let near: f64 = fields.optional("near")?.unwrap_or(0.9);
    let longer: Option<Nanos> = fields.time("for-longer-than")?;
    let expect = Expect {
        from: fields.time("from")?.unwrap_or(Nanos::ZERO),
        until: fields.time("until")?.unwrap_or(duration),
        settled_within: fields.time("settled-within")?.map(|within| (within, near)),
        never_below: fields
            .optional("never-below")?
            .map(|floor| (floor, longer.unwrap_or(Nanos::from_secs(1)))),
        regret_below: fields.optional("regret-below")?,
        limit_within: match (count(&mut fields, "min-limit")?, count(&mut fields, "max-limit")?) {
            (None, None) => None,
            (low, high) => Some((low.unwrap_or(1), high.unwrap_or(u32::MAX))),
        },
    };
    fields.finish()?;
    let Expect { settled_within: None, never_below: None, regret_below: None, limit_within: None, .. } =
        expect
    else {
        return Ok(expect);
    };
    bail!(
        "expect {number}: expects nothing; set `settled-within`, `never-below`, `regret-below`, `min-limit` or `max-limit`"
    )
}

fn positive(fields: &mut Fields, key: &'static str) -> Result<f64> {
    match fields.required::<f64>(key)? {
        value if value.is_finite() && value > 0.0 => Ok(value),
        value => Err(fields.at(key, format!("`{key}` is {value}; it is above 0"))),
    }
}

fn count(fields: &mut Fields, key: &'static str) -> Result<Option<u32>> {
    match fields.optional::<u64>(key)? {
        None => Ok(None),
        Some(value @ 1..=100_000) => Ok(u32::try_from(value).ok()),
        Some(value) => Err(fields.at(key, format!("`{key}` is {value}; it is between 1 and 100000"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINIMAL: &str = "name = \"s\"\n[[plant]]\nmeasured = \"hot-row\"\n[[load]]\nclients = 64\n";

    fn parse(text: &str) -> Result<ScenarioFile> {
        read(text.parse()?, &Instead::default())
    }

    #[test]
    fn the_least_scenario_is_ours_for_a_minute() {
        let file = parse(MINIMAL).unwrap();
        assert_eq!((file.controller.name(), file.scenario.duration), ("evenkeel", Nanos::from_secs(60)));
        assert_eq!(file.scenario.plants[0].best(1_024, 0.0).0, 2);
        let instead = Instead { controller: Some("reflection".to_owned()), seed: Some(9) };
        let other = read(MINIMAL.parse().unwrap(), &instead).unwrap();
        assert_eq!((other.controller.name(), other.scenario.seed), ("reflection", Seed(9)));
    }

    #[test]
    fn a_value_out_of_range_is_told_with_its_line_and_the_name_that_its_key_has_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.toml");
        for (text, expected) in [
            (format!("initial-limit = 0\n{MINIMAL}"), "1: scenario: `initial-limit` is 0; it is between"),
            (format!("max-limit = 0\n{MINIMAL}"), "1: scenario: `max-limit` is 0; it is between"),
            (format!("{MINIMAL}[[expect]]\nmin-limit = 0\n"), "7: expect 1: `min-limit` is 0; it is between"),
            (format!("{MINIMAL}[[expect]]\nmax-limit = 0\n"), "7: expect 1: `max-limit` is 0; it is between"),
            (format!("tick = \"0s\"\n{MINIMAL}"), "1: scenario: `tick` must be at least 1ms"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = load(&path, &Instead::default()).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{}:{expected}", path.display())), "{error}");
        }
    }

    #[test]
    fn mistakes_name_the_entry_and_what_to_do() {
        for (text, words) in [
            ("name = \"s\"", "`plant` is missing"),
            ("name = \"s\"\nplant = []\nload = []", "`load` is empty"),
            (&format!("controller = \"evenkeal\"\n{MINIMAL}"), "did you mean `evenkeel`?"),
            (&format!("initial-limit = 0\n{MINIMAL}"), "`initial-limit` is 0; it is between 1 and"),
            (&format!("tick = \"0s\"\n{MINIMAL}"), "`tick` must be at least 1ms"),
            (&format!("{MINIMAL}plant = \"x\""), "load 1: no plant `x`, known are `1`"),
            (&format!("{MINIMAL}[[expect]]\nfrom = \"1s\""), "expects nothing"),
            (&format!("{MINIMAL}[[expect]]\nsettled-within = 5"), "has no unit"),
            (
                "name = \"s\"\n[[load]]\nclients = 1\n[[plant]]\nmeasured = \"x\"",
                "no measured curve `x`, known are `flash-sale`",
            ),
            (
                "name = \"s\"\n[[load]]\nclients = 1\n[[plant]]\ncurve = \"usl\"\nsigma = 0.1\nkappa = 0",
                "`kappa` is 0; it is above 0",
            ),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
