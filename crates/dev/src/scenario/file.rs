//! The keys of a scenario file; `scenarios/flash-sale.toml` explains them.

use super::ScenarioFile;
use crate::control::Contender;
use crate::control::simulation::{Expect, Load, Phase, Scenario};
use crate::plant::{Curve, Fall, Measured, Plant, Rise, Shift};
use anyhow::{Context, Result, anyhow, ensure};
use evenkeel_core::Nanos;
use evenkeel_core::control::Bounds;
use evenkeel_core::control::evenkeel::Memory;
use evenkeel_core::random::Seed;
use serde::Deserialize;

/// What flags set in place of what the file says.
#[derive(Clone, Debug, Default)]
pub struct Instead {
    /// Name of the controller.
    pub controller: Option<String>,
    /// Seed of all that is drawn.
    pub seed: Option<u64>,
}

pub(super) fn read(text: &str, instead: &Instead) -> Result<ScenarioFile> {
    let file: File = toml::from_str(text)?;
    ensure!(!file.load.is_empty(), "`load` is empty: nobody asks for transactions");
    let bounds = Bounds { initial: file.initial_limit.unwrap_or(8), range: (1, file.max_limit.unwrap_or(1_024)) };
    let name = instead.controller.as_ref().or(file.controller.as_ref()).map_or("evenkeel", String::as_str);
    let contender = Contender::named(name, bounds).map_err(|unknown| anyhow!(unknown))?;
    let memory = file.memory.as_ref().map(|memory| Memory { budget: memory.budget.0, each: memory.each.0 });
    let duration = time(file.duration, Nanos::from_secs(60));
    let plants = file.plant.iter().map(PlantTable::plant).collect::<Result<_>>()?;
    let phases = file.load.iter().map(|load| load.phase(&file.plant)).collect::<Result<_>>()?;
    let scenario = Scenario {
        plants,
        load: Load::new(phases),
        tick: time(file.tick, Nanos::from_millis(50)),
        duration,
        initial_limit: bounds.initial,
        seed: Seed(instead.seed.or(file.seed).unwrap_or(1)),
    };
    let expect = file.expect.iter().map(|expect| expect.expect(duration)).collect();
    Ok(ScenarioFile { name: file.name, contender: contender.with_memory(memory), scenario, expect })
}

fn time(given: Option<Time>, default: Nanos) -> Nanos {
    given.map_or(default, |time| time.0)
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    name: String,
    controller: Option<String>,
    initial_limit: Option<u32>,
    max_limit: Option<u32>,
    memory: Option<BudgetTable>,
    seed: Option<u64>,
    tick: Option<Time>,
    duration: Option<Time>,
    plant: Vec<PlantTable>,
    load: Vec<LoadTable>,
    #[serde(default)]
    expect: Vec<ExpectTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BudgetTable {
    budget: Bytes,
    each: Bytes,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FreeTable {
    free: Bytes,
    each: Bytes,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ShiftTable {
    at: Time,
    factor: f64,
    over: Option<Time>,
}

/// A measured curve by its name, or a curve with its parameters.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct PlantTable {
    name: Option<String>,
    measured: Option<String>,
    curve: Option<String>,
    best: Option<f64>,
    bend: Option<f64>,
    fall: Option<String>,
    exponent: Option<f64>,
    fall_floor: Option<f64>,
    edge: Option<f64>,
    height: Option<f64>,
    sigma: Option<f64>,
    kappa: Option<f64>,
    peak_per_s: Option<f64>,
    settle: Option<Time>,
    wobble: Option<f64>,
    cost: Option<f64>,
    #[serde(default)]
    sensors: bool,
    memory: Option<FreeTable>,
    shift: Option<ShiftTable>,
}

impl PlantTable {
    fn plant(&self) -> Result<Plant> {
        let mut plant = match &self.measured {
            Some(name) => Measured::named(name).with_context(|| format!("no measured curve `{name}`"))?.plant(),
            None => Plant::new(self.curve()?, self.peak_per_s.context("`peak-per-s` is missing")?),
        };
        plant.settle_s = time(self.settle, Nanos::ZERO).as_secs_f64();
        plant.wobble = self.wobble.unwrap_or(0.0);
        plant.cost = self.cost.unwrap_or(1.0);
        plant.sensors = self.sensors;
        plant.memory = self.memory.as_ref().map(|memory| (memory.free.0, memory.each.0));
        plant.shift = self.shift.as_ref().map(|shift| Shift {
            at_s: shift.at.0.as_secs_f64(),
            factor: shift.factor,
            over_s: time(shift.over, Nanos::ZERO).as_secs_f64(),
        });
        Ok(plant)
    }

    fn curve(&self) -> Result<Curve> {
        match self.curve.as_deref() {
            Some("usl") => Ok(Curve::Usl {
                sigma: self.sigma.context("`sigma` is missing")?,
                kappa: self.kappa.context("`kappa` is missing")?,
            }),
            Some("peaked") => {
                let rise = Rise { bend: self.bend.unwrap_or(1.0) };
                Ok(Curve::peaked(self.best.context("`best` is missing")?, rise, self.fall()?))
            }
            other => Err(anyhow!("`curve` is {other:?}; known are `usl` and `peaked`")),
        }
    }

    fn fall(&self) -> Result<Fall> {
        match self.fall.as_deref() {
            Some("locks") => Ok(Fall::Power {
                exponent: self.exponent.context("`exponent` is missing")?,
                floor: self.fall_floor.unwrap_or(0.05),
                by_locks: true,
            }),
            Some("cliff") => Ok(Fall::Cliff {
                edge: self.edge.context("`edge` is missing")?,
                height: self.height.context("`height` is missing")?,
            }),
            other => Err(anyhow!("`fall` is {other:?}; known are `locks` and `cliff`")),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct LoadTable {
    at: Option<Time>,
    clients: u32,
    think: Option<Time>,
    slow: Option<u32>,
    #[serde(default)]
    paused: bool,
    plant: Option<String>,
}

impl LoadTable {
    fn phase(&self, plants: &[PlantTable]) -> Result<Phase> {
        let plant = match &self.plant {
            None => 0,
            Some(name) => plants
                .iter()
                .position(|plant| plant.name.as_ref() == Some(name))
                .with_context(|| format!("no plant `{name}`"))?,
        };
        Ok(Phase {
            at: time(self.at, Nanos::ZERO),
            clients: self.clients,
            think_s: time(self.think, Nanos::ZERO).as_secs_f64(),
            slow: self.slow.unwrap_or(0),
            paused: self.paused,
            plant,
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ExpectTable {
    from: Option<Time>,
    until: Option<Time>,
    settled_within: Option<Time>,
    near: Option<f64>,
    never_below: Option<f64>,
    for_longer_than: Option<Time>,
    regret_below: Option<f64>,
    min_limit: Option<u32>,
    max_limit: Option<u32>,
}

impl ExpectTable {
    fn expect(&self, duration: Nanos) -> Expect {
        let longer = time(self.for_longer_than, Nanos::from_secs(1));
        let is_bounded = self.min_limit.is_some() || self.max_limit.is_some();
        let bounds = (self.min_limit.unwrap_or(1), self.max_limit.unwrap_or(u32::MAX));
        Expect {
            from: time(self.from, Nanos::ZERO),
            until: time(self.until, duration),
            settled_within: self.settled_within.map(|within| (within.0, self.near.unwrap_or(0.9))),
            never_below: self.never_below.map(|floor| (floor, longer)),
            regret_below: self.regret_below,
            limit_within: is_bounded.then_some(bounds),
        }
    }
}

/// A time with its unit, as "50ms".
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
struct Time(Nanos);

impl TryFrom<String> for Time {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0)];
        quantity(&text, &units).map(|seconds| Self(Nanos::from_secs_f64(seconds)))
    }
}

/// A number of bytes, as "620M".
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
struct Bytes(f64);

impl TryFrom<String> for Bytes {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        quantity(&text, &[("M", f64::from(1_u32 << 20)), ("G", f64::from(1_u32 << 30))]).map(Self)
    }
}

fn quantity(text: &str, units: &[(&str, f64)]) -> Result<f64, String> {
    let digits = text.trim_end_matches(char::is_alphabetic);
    let unit = units.iter().find(|(unit, _)| *unit == &text[digits.len()..]);
    let number: Option<f64> = digits.parse().ok();
    number.zip(unit).map(|(number, (_, unit))| number * unit).ok_or_else(|| format!("`{text}` is no quantity"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_has_defaults_and_flags_take_the_place_of_its_keys() {
        let text = "name = 's'\n[[plant]]\nmeasured = 'hot-row'\n[[load]]\nclients = 64\nthink = '1.5s'\n";
        let file = read(text, &Instead::default()).unwrap();
        assert_eq!((file.contender.name(), file.scenario.duration), ("evenkeel", Nanos::from_secs(60)));
        assert_eq!(file.scenario.load.at(Nanos::ZERO).think_s, 1.5);
        let instead = Instead { controller: Some("aimd".to_owned()), seed: Some(9) };
        let other = read(text, &instead).unwrap();
        assert_eq!((other.contender.name(), other.scenario.seed), ("aimd", Seed(9)));
        for wrong in ["x = 1\n", "tick = '5'\n", "controller = 'vegas'\n"] {
            assert!(read(&format!("{wrong}{text}"), &Instead::default()).is_err(), "{wrong}");
        }
    }
}
