//! Studies that were kept before published studies had one form: `points/*.json` and `steps/*.json` beside a plan of their own.

use super::figures::{SETTLED, SETTLED_AT, WAITED};
use super::parts::{self, Sweep};
use super::record::{Load, Setting, Times, Treatment};
use crate::harness::{FORMAT, Part, Plan, Run, Series, keep};
use crate::published::{PublishedError, Result, While};
use crate::store::{StoreError, StudyFolder};
use evenkeel_os::replace;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// The plan as it was, of a study that is being brought into today's form: a kill may leave one half on the way.
const PLAN_BEFORE: &str = "plan.before.json";

/// Whether a folder holds one.
pub fn is_one(folder: &Path) -> bool {
    folder.join("points").is_dir()
}

/// Reads the plan and the runs.
///
/// # Errors
/// A file is damaged, or of a later version.
pub fn read(folder: &Path) -> Result<(Plan, Vec<Run>)> {
    let before = folder.join(PLAN_BEFORE);
    let of_plan = if before.exists() { before } else { folder.join("plan.json") };
    let old = json_of(&of_plan)?;
    if old["format"].as_u64() != Some(1) {
        let what = format!("{} has format {}, this version reads 1", folder.display(), old["format"]);
        return Err(PublishedError::wrong(what));
    }
    let plan = plan(&Old { file: &of_plan, whole: &old })?;
    let (points, steps) = (all(&folder.join("points"))?, all(&folder.join("steps"))?);
    let before_s = old["step"]["before_s"].as_f64().unwrap_or(0.0);
    let points = points.iter().map(|(file, whole)| point(&Old { file, whole }));
    let steps = steps.iter().map(|(file, whole)| step(&Old { file, whole }, before_s));
    Ok((plan, points.chain(steps).collect::<Result<_>>()?))
}

/// Gives a study of before the form of today, beside what it had. After a kill in the middle it can be done again.
///
/// # Errors
/// A damaged file, by name, and those of the disk.
pub fn bring_forward(path: &Path) -> Result<()> {
    let (plan, runs) = read(path)?;
    let doing = || format!("bringing {} forward", path.display());
    std::fs::create_dir_all(path.join("runs")).doing(doing)?;
    let before = path.join(PLAN_BEFORE);
    if !before.exists() {
        let plan = std::fs::read(path.join("plan.json")).doing(doing)?;
        replace(&before, &plan).doing(doing)?;
    }
    {
        let folder = StudyFolder::resume(path)?;
        runs.iter().try_for_each(|run| keep_new(&folder, run))?;
        folder.write("plan.json", &plan)?;
    }
    std::fs::rename(path.join("points"), path.join("points.before")).doing(doing)
}

/// A kill in the middle leaves some of them kept already.
fn keep_new(folder: &StudyFolder, run: &Run) -> Result<()> {
    let whole = folder.path().join("runs").join(Run::name(&run.part, &run.levels, run.repeat));
    if whole.exists() { Ok(()) } else { Ok(keep(folder, run)?) }
}

fn json_of(path: &Path) -> Result<Value> {
    let text = std::fs::read(path).doing(|| format!("reading {}", path.display()))?;
    serde_json::from_slice(&text).map_err(|source| StoreError::damaged(path, &text, source).into())
}

fn all(folder: &Path) -> Result<Vec<(PathBuf, Value)>> {
    let entries = std::fs::read_dir(folder).doing(|| format!("listing {}", folder.display()))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    paths.into_iter().map(|path| json_of(&path).map(|value| (path, value))).collect()
}

fn plan(old: &Old<'_>) -> Result<Plan> {
    let times = |load: Load| -> Result<Times> { old.part(load.name(), "its `warm_up_s` and `duration_s`") };
    let setting = Setting {
        ebs: old.number("ebs")?,
        items: old.number("items")?,
        settle: old.part("settle", "`span_s` and `most_s`, or nothing")?,
        shopping: times(Load::Shopping)?,
        reread: times(Load::Reread)?,
        second: old.part("second", "\"auto\", \"always\" or \"never\"")?,
        step: old.part("step", "its `clients`, `before_s` and `after_s`")?,
        place: old.part("place", "the server and its machine")?,
    };
    let part = |load: Load| -> Result<Part> {
        Ok(parts::of_load(load, &Sweep { clients: clients(old, load)?, ..sweep(old, load.name())? }))
    };
    let steps = sweep(old, "step")?;
    Ok(Plan {
        format: FORMAT,
        id: old.part("id", "a text")?,
        kind: super::NAME.to_owned(),
        created_unix_s: old.part("created_unix_s", "a whole number from 0 up")?,
        tool: String::new(),
        command: old.part("command", "a list of texts")?,
        seed: old.part("seed", "a whole number from 0 up")?,
        parts: vec![
            part(Load::Shopping)?,
            parts::of_step(&setting, &steps.ways, steps.repeats),
            part(Load::Reread)?,
        ],
        setting: serde_json::to_value(setting)?,
    })
}

fn clients(old: &Old<'_>, load: Load) -> Result<Vec<u32>> {
    old.part(&format!("{}.clients", load.name()), "a list of whole numbers")
}

/// Without clients, which a step has none of.
fn sweep(old: &Old<'_>, name: &str) -> Result<Sweep> {
    Ok(Sweep {
        clients: Vec::new(),
        ways: old.part(&format!("{name}.ways"), WAYS)?,
        repeats: old.number(&format!("{name}.repeats"))?,
    })
}

const WAY: &str = "\"direct\", \"unlimited\", \"reflection\" or \"evenkeel\"";
const WAYS: &str = "a list of \"direct\", \"unlimited\", \"reflection\" and \"evenkeel\"";

/// A file as it was written, for errors that name it.
struct Old<'a> {
    file: &'a Path,
    whole: &'a Value,
}

impl Old<'_> {
    /// What stands under a key, as `key.clients`; null where nothing does.
    fn value(&self, key: &str) -> &Value {
        key.split('.').fold(self.whole, |value, name| &value[name])
    }

    /// The same as what it must be, which is said in words.
    fn part<T: DeserializeOwned>(&self, key: &str, allowed: &str) -> Result<T> {
        let value = self.value(key).clone();
        serde_json::from_value(value).map_err(|_| self.wrong(key, allowed))
    }

    /// A number of things, of which there is one at least.
    fn number(&self, key: &str) -> Result<u32> {
        let number = self.value(key).as_u64().and_then(|number| u32::try_from(number).ok());
        number.filter(|number| *number > 0).ok_or_else(|| self.wrong(key, "a whole number from 1 up"))
    }

    /// A figure; `None` where it was not available.
    fn figure(&self, key: &str) -> Result<Option<f64>> {
        self.part(key, "a number, or null")
    }

    fn wrong(&self, key: &str, allowed: &str) -> PublishedError {
        let found = match self.value(key) {
            Value::Null => "is missing".to_owned(),
            found => format!("is {found}"),
        };
        let text = format!("`{key}` {found}, and must be {allowed}");
        StoreError::Unread { path: self.file.to_owned(), text }.into()
    }
}

/// What figures per commit were called in a file, where that was not their name.
const RENAMED: [(&str, &str); 6] = [
    ("cpu_ms", "cpu_ms_per_commit"),
    ("cycles", "cycles_per_commit"),
    ("dtlb_misses", "dtlb_misses_per_commit"),
    ("cache_misses", "cache_misses_per_commit"),
    ("pages_read", "pages_read_per_commit"),
    ("switches", "switches_per_commit"),
];

fn point(old: &Old<'_>) -> Result<Run> {
    let load: Load = old.part("key.load", "\"shopping\" or \"reread\"")?;
    let way: Treatment = old.part("key.way", WAY)?;
    let mut run = Run {
        format: FORMAT,
        part: load.name().to_owned(),
        levels: vec![way.name().to_owned(), old.number("key.clients")?.to_string()],
        repeat: old.number("key.repeat")?,
        started_unix_s: old.whole["started_unix_s"].as_u64().unwrap_or(0),
        ..Run::default()
    };
    let figures: Map<String, Value> = old.part("figures", "figures by their names")?;
    for name in figures.keys() {
        let known = RENAMED.iter().find(|(before, _)| before == name).map_or(name.as_str(), |(_, now)| now);
        run.set(known, old.figure(&format!("figures.{name}"))?);
    }
    for name in ["measured_s", "arrivals", "completed", "deadlocks", "failed", "lost"] {
        run.set(name, old.figure(name)?);
    }
    let settled: Option<bool> = old.part("settling.settled", "true or false")?;
    run.set(SETTLED, settled.map(|settled| f64::from(u8::from(settled))));
    run.set(WAITED, old.figure("settling.waited_s")?);
    run.set(SETTLED_AT, old.figure("settling.limit")?);
    if let Some(reason) = old.whole["counters_refused"].as_str() {
        run.notes.insert(super::COUNTERS_REFUSED.to_owned(), reason.to_owned());
    }
    Ok(run)
}

/// Instants count from the start of the few clients, with the step where it was planned.
fn step(old: &Old<'_>, before_s: f64) -> Result<Run> {
    let way: Treatment = old.part("way", WAY)?;
    let at_s = old.figure("step_at_s")?.unwrap_or(before_s);
    let seconds: Vec<Value> = old.part("seconds", "a list, with an instant each")?;
    let row = |second: &Value| {
        let values = ["throughput_per_s", "limit"].map(|name| second[name].as_f64());
        (second["at_s"].as_f64().unwrap_or(0.0) - at_s + before_s, values.to_vec())
    };
    Ok(Run {
        format: FORMAT,
        part: parts::STEP.to_owned(),
        levels: vec![way.name().to_owned()],
        repeat: old.number("repeat")?,
        series: Series {
            columns: ["throughput_per_s", "limit"].map(str::to_owned).to_vec(),
            rows: seconds.iter().map(row).collect(),
        },
        ..Run::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As 64878ec wrote it.
    const PLAN: &str = r#"{"format":1,"id":"throttling-1","created_unix_s":1795000000,"command":["study","throttling"],
        "quick":true,"seed":1,"ebs":1,"items":1000,"settle":{"span_s":60.0,"most_s":600.0},
        "shopping":{"load":"shopping","clients":[1,8],"ways":["direct","evenkeel"],"repeats":3,"warm_up_s":1.0,"duration_s":4.0},
        "reread":{"load":"reread","clients":[1],"ways":["direct"],"repeats":3,"warm_up_s":1.0,"duration_s":4.0},
        "second":"auto","step":{"clients":[4,64],"ways":["direct"],"repeats":2,"before_s":2.0,"after_s":3.0},
        "place":{"processor":null,"cpus":null,"server_cpus":"0","generator_cpus":"1","hypervisor":null,"settings":[],
        "server_binary":null,"memory_bytes":null}}"#;
    const POINT: &str = r#"{"format":1,"key":{"load":"shopping","way":"direct","clients":8,"repeat":2},"started_unix_s":7,
        "measured_s":4.0,"arrivals":40,"completed":39,"deadlocks":1,"failed":0,"lost":0,"figures":{"throughput_per_s":9.75,
        "response_mean_ms":3.0,"response_p95_ms":5.0,"cpu_ms":1.25,"cycles":null,"dtlb_misses":null,"cache_misses":null,
        "pages_read":2.0,"switches":null,"lock_wait_percent":0.5,"deadlock_percent":2.5,"limit_mean":null,"limit_last":null,
        "theta_percent":80.0,"generator_percent":10.0,"other_percent":null,"steal_percent":null},
        "counters_refused":"no such event","settling":{"settled":false,"waited_s":600.0,"limit":4}}"#;
    const STEP: &str = r#"{"format":1,"way":"direct","repeat":1,"step_at_s":2.5,"seconds":[
        {"at_s":1.0,"throughput_per_s":9.0,"limit":null},{"at_s":3.0,"throughput_per_s":19.0,"limit":8.0}]}"#;

    #[test]
    fn a_study_of_before_is_read_with_all_its_figures() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in
            [("plan.json", PLAN), ("points/shopping-direct-8-r2.json", POINT), ("steps/direct-r1.json", STEP)]
        {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        assert!(is_one(folder.path()));
        let (plan, runs) = read(folder.path()).unwrap();
        assert_eq!((plan.parts.len(), plan.parts[0].runs(), plan.seed), (3, 12, 1));
        let point = &runs[0];
        assert!(point.is("shopping", &["direct".to_owned(), "8".to_owned()], 2));
        for (name, value) in [
            ("throughput_per_s", 9.75),
            ("cpu_ms_per_commit", 1.25),
            ("pages_read_per_commit", 2.0),
            ("completed", 39.0),
            (SETTLED, 0.0),
            (WAITED, 600.0),
        ] {
            assert_eq!(point.figure(name), Some(value), "{name}");
        }
        assert_eq!(point.figure("cycles_per_commit"), None);
        assert_eq!(runs[1].series.rows[1], (2.5, vec![Some(19.0), Some(8.0)]));
        std::fs::write(folder.path().join("points/cut.json"), "{").unwrap();
        assert!(format!("{:#}", read(folder.path()).unwrap_err()).contains("cut.json"));
    }
    #[test]
    fn what_is_wrong_in_a_file_of_before_is_told_with_file_key_and_what_is_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let (plan, point) = (folder.path().join("plan.json"), folder.path().join("points/a.json"));
        std::fs::create_dir_all(folder.path().join("steps")).unwrap();
        std::fs::create_dir_all(folder.path().join("points")).unwrap();
        for (file, before, after, expected) in [
            (
                &point,
                "\"clients\":8",
                "\"clients\":0",
                "`key.clients` is 0, and must be a whole number from 1 up",
            ),
            (&point, "\"repeat\":2", "\"repeat\":-2", "`key.repeat` is -2, and must be"),
            (&point, "\"repeat\":2", "\"repeated\":2", "`key.repeat` is missing, and must be"),
            (&point, "\"direct\"", "\"dirct\"", "`key.way` is \"dirct\", and must be \"direct\","),
            (&point, "1.25", "\"much\"", "`figures.cpu_ms` is \"much\", and must be a number"),
            (&plan, "\"seed\":1,", "", "`seed` is missing, and must be a whole number"),
            (&plan, "\"repeats\":2", "\"repeats\":0", "`step.repeats` is 0, and must be"),
            (&plan, "\"warm_up_s\":1.0", "\"warm_up_s\":\"x\"", "`shopping` is {"),
        ] {
            let edited = |own: &Path, text: &str| {
                if own == file { text.replacen(before, after, 1) } else { text.to_owned() }
            };
            std::fs::write(&plan, edited(&plan, PLAN)).unwrap();
            std::fs::write(&point, edited(&point, POINT)).unwrap();
            let Err(PublishedError::Store(error)) = read(folder.path()) else { panic!("{expected}") };
            let told = error.to_string();
            assert!(told.starts_with(&format!("cannot read {}: {expected}", file.display())), "{told}");
            assert!(
                error.hint().is_some_and(|hint| hint.contains("copy") || hint.contains("move")),
                "{told}"
            );
        }
    }
}
