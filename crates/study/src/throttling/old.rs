//! Studies that were kept before published studies had one form: `points/*.json` and `steps/*.json` beside a plan of their own.

use super::figures::{SETTLED, SETTLED_AT, WAITED};
use super::parts::{self, Sweep};
use super::record::{Load, Setting, StepPlan, Times, Treatment};
use crate::harness::{FORMAT, Part, Plan, Run, Series, keep};
use crate::published::{PublishedError, Result, While};
use crate::store::StudyFolder;
use evenkeel_os::replace;
use serde_json::{Value, json};
use std::path::Path;

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
    let old = json_of(&if before.exists() { before } else { folder.join("plan.json") })?;
    if old["format"].as_u64() != Some(1) {
        let what = format!("{} has format {}, this version reads 1", folder.display(), old["format"]);
        return Err(PublishedError::wrong(what));
    }
    let plan = plan(&old).doing(|| format!("reading the plan in {}", folder.display()))?;
    let points = all(&folder.join("points"))?;
    let steps = all(&folder.join("steps"))?;
    let before_s = old["step"]["before_s"].as_f64().unwrap_or(0.0);
    let runs = points.iter().map(point).chain(steps.iter().map(|old| step(old, before_s)));
    Ok((plan, runs.collect::<Result<_>>()?))
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
    let text = std::fs::read_to_string(path).doing(|| format!("reading {}", path.display()))?;
    serde_json::from_str(&text).doing(|| format!("reading {}", path.display()))
}

fn all(folder: &Path) -> Result<Vec<Value>> {
    let entries = std::fs::read_dir(folder).doing(|| format!("listing {}", folder.display()))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    paths.iter().map(|path| json_of(path)).collect()
}

fn plan(old: &Value) -> Result<Plan> {
    let of = |name: &str| old[name].clone();
    let times = |name: &str| -> Result<Times> { Ok(serde_json::from_value(of(name))?) };
    let step: StepPlan = serde_json::from_value(of("step"))?;
    let setting = Setting {
        ebs: serde_json::from_value(of("ebs"))?,
        items: serde_json::from_value(of("items"))?,
        settle: serde_json::from_value(of("settle"))?,
        shopping: times("shopping")?,
        reread: times("reread")?,
        second: serde_json::from_value(of("second"))?,
        step,
        place: serde_json::from_value(of("place"))?,
    };
    let part = |load: Load| -> Result<Part> { Ok(parts::of_load(load, &sweep(&old[load.name()])?)) };
    let steps =
        sweep(&json!({ "clients": [], "ways": old["step"]["ways"], "repeats": old["step"]["repeats"] }))?;
    Ok(Plan {
        format: FORMAT,
        id: serde_json::from_value(of("id"))?,
        kind: super::NAME.to_owned(),
        created_unix_s: serde_json::from_value(of("created_unix_s"))?,
        tool: String::new(),
        command: serde_json::from_value(of("command"))?,
        seed: serde_json::from_value(of("seed"))?,
        parts: vec![
            part(Load::Shopping)?,
            parts::of_step(&setting, &steps.ways, steps.repeats),
            part(Load::Reread)?,
        ],
        setting: serde_json::to_value(setting)?,
    })
}

fn sweep(old: &Value) -> Result<Sweep> {
    Ok(Sweep {
        clients: serde_json::from_value(old["clients"].clone())?,
        ways: serde_json::from_value(old["ways"].clone())?,
        repeats: serde_json::from_value(old["repeats"].clone())?,
    })
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

fn point(old: &Value) -> Result<Run> {
    let key = &old["key"];
    let clients: u32 = serde_json::from_value(key["clients"].clone()).doing(|| "a point without clients")?;
    let mut run = Run {
        format: FORMAT,
        part: key["load"].as_str().unwrap_or_default().to_owned(),
        levels: vec![key["way"].as_str().unwrap_or_default().to_owned(), clients.to_string()],
        repeat: serde_json::from_value(key["repeat"].clone())?,
        started_unix_s: old["started_unix_s"].as_u64().unwrap_or(0),
        ..Run::default()
    };
    for (name, value) in old["figures"].as_object().into_iter().flatten() {
        let known = RENAMED.iter().find(|(before, _)| before == name).map_or(name.as_str(), |(_, now)| now);
        run.set(known, value.as_f64());
    }
    for name in ["measured_s", "arrivals", "completed", "deadlocks", "failed", "lost"] {
        run.set(name, old[name].as_f64());
    }
    let settling = &old["settling"];
    run.set(SETTLED, settling["settled"].as_bool().map(|settled| f64::from(u8::from(settled))));
    run.set(WAITED, settling["waited_s"].as_f64());
    run.set(SETTLED_AT, settling["limit"].as_f64());
    if let Some(reason) = old["counters_refused"].as_str() {
        run.notes.insert(super::COUNTERS_REFUSED.to_owned(), reason.to_owned());
    }
    Ok(run)
}

/// Instants count from the start of the few clients, with the step where it was planned.
fn step(old: &Value, before_s: f64) -> Result<Run> {
    let way: Treatment = serde_json::from_value(old["way"].clone()).doing(|| "a step without a way")?;
    let at_s = old["step_at_s"].as_f64().unwrap_or(before_s);
    let row = |second: &Value| {
        let values = ["throughput_per_s", "limit"].map(|name| second[name].as_f64());
        (second["at_s"].as_f64().unwrap_or(0.0) - at_s + before_s, values.to_vec())
    };
    Ok(Run {
        format: FORMAT,
        part: parts::STEP.to_owned(),
        levels: vec![way.name().to_owned()],
        repeat: serde_json::from_value(old["repeat"].clone())?,
        series: Series {
            columns: ["throughput_per_s", "limit"].map(str::to_owned).to_vec(),
            rows: old["seconds"].as_array().into_iter().flatten().map(row).collect(),
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
}
