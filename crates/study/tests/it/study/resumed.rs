//! A study that was stopped goes on, and what it keeps is whole, whatever comes from outside: a neighbour on the machine, a full disk.

use super::*;
use crate::left_out::left_out;
use evenkeel_lab::workload::Class;
use evenkeel_sense::waits::ThreadWaits;
use evenkeel_study::store::StoreError;
use evenkeel_study::store::format::{PlanFile, RunFile};
use std::collections::BTreeSet;
use std::process::{Child, Command};

#[test]
fn a_stopped_study_goes_on_with_the_same_cells_and_measures_none_twice() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("runs");
    let mut spec = spec(home.path(), "tpcw.complex", RatePlan::List(vec![20.0, 40.0]));
    // Without a warm-up every statement that the server counts is of an arrival that is counted too.
    (spec.duration, spec.warm_up) = (Nanos::from_secs(3), Nanos::ZERO);
    let first = folder(&root, &spec);
    let summary = measure(&spec, &first, 1);
    assert!(!summary.complete);
    assert_eq!(summary.runs_done, 1);
    let cells = first.plan().unwrap().cells;
    let path = first.path().to_owned();
    drop(first);
    // What a kill in the middle of a run leaves.
    std::fs::create_dir(path.join("runs/c02-r2.part")).unwrap();

    let again = StudyFolder::resume(&path).unwrap();
    assert_eq!(profile::finished(&spec, &again).unwrap(), None, "runs are missing");
    let summary = measure(&spec, &again, usize::MAX);
    assert!(summary.complete);
    assert_eq!(profile::finished(&spec, &again).unwrap(), Some(summary), "nothing is left to measure");
    assert_eq!(again.plan().unwrap().cells, cells);
    let keys = keys(&again);
    assert_eq!(keys.len(), 4);
    assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), 4);
    check_runs(&again, &again.plan().unwrap());
    check_damage(&again);
}

/// Every arrival has one of the four ends, every run has its tables, and the pool is as asked for.
fn check_runs(folder: &StudyFolder, plan: &PlanFile) {
    for run in folder.runs().unwrap() {
        let counts = &run.counts;
        let failed: u64 = counts.failed.values().sum();
        assert_eq!(run.batches.iter().map(|batch| batch.arrivals).sum::<u64>(), counts.arrivals);
        assert!(run.batches.len() == 20 && run.relaxations.is_some(), "{:?}", run.relaxations);
        assert_eq!(counts.arrivals, counts.completed + failed + counts.timed_out + counts.unsent);
        assert!(counts.arrivals > 0 && failed == 0, "{counts:?}");
        assert_eq!(run.response.count, counts.arrivals);
        // Looking makes temporary tables of its own, which must not count as the load's.
        assert!(
            run.status.get("Created_tmp_disk_tables").is_none_or(|&made| made == 0.0),
            "{:?}",
            run.status
        );
        let scans = run.status.get("Select_scan").copied().unwrap_or(0.0);
        assert!(scans <= run.counts.arrivals as f64, "{:?}", run.status);
        if let Some(running) = run.gauges.get("Threads_running") {
            assert!(running.mean >= 1.0 && running.max >= running.mean, "{running:?}");
        }
        let dir = folder.path().join(format!("runs/c{:02}-r{}", run.cell, run.repeat));
        for file in ["response.csv", "intervals.csv", "sense.csv"] {
            assert!(std::fs::metadata(dir.join(file)).unwrap().len() > 0, "{file}");
        }
    }
    check_observations(&folder.runs().unwrap());
    assert_eq!(plan.series[0].pool_bytes, Some(16 << 20));
    let manifest = folder.manifest().unwrap();
    assert_eq!(manifest.plans[0].class, Class::Complex);
    assert!(manifest.servers[0].version.contains("MariaDB"));
    assert_eq!(manifest.servers[0].data["num_items"], "1000");
}

/// A machine that stands still lets one run pass unobserved, and says so; not all of them.
fn check_observations(runs: &[RunFile]) {
    let some =
        |what: &str, seen: &dyn Fn(&RunFile) -> bool| assert!(runs.iter().any(seen), "no run has {what}");
    some("a utilisation", &|run| run.theta.is_some());
    some("the server's counters", &|run| run.status.contains_key("Innodb_buffer_pool_reads"));
    some("the server's gauges", &|run| run.gauges.contains_key("Threads_running"));
    let delay = |run: &RunFile| run.mu_ms.as_ref().is_some_and(|mu| mu.mean > 0.0 && mu.se.is_some());
    some("a probe delay, although MariaDB tells how long a statement took", &delay);
    if ThreadWaits::own().is_none() {
        return left_out("the kernel does not tell how long a thread waited for a CPU");
    }
    let waited = |run: &RunFile| {
        let parts = run.mu_ms.as_ref().zip(run.probe_wait_ms.as_ref());
        // Where neighbours keep both CPUs, the wait is the whole delay.
        parts.is_some_and(|(whole, part)| part.n == whole.n && (0.0..=whole.mean).contains(&part.mean))
    };
    some("a probe whose wait for a CPU is at most its delay", &waited);
}

fn check_damage(folder: &StudyFolder) {
    assert!(matches!(StudyFolder::resume(folder.path()), Err(StoreError::Locked(_))));
    let damaged = folder.path().join("runs/c01-r1/run.json");
    std::fs::write(&damaged, "{\"format\": 1, \"cell\"").unwrap();
    let error = folder.runs().unwrap_err();
    assert!(error.to_string().contains("c01-r1/run.json"), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("folder of that run away")), "{error}");
    std::fs::write(&damaged, "{\"format\": 99}").unwrap();
    assert!(matches!(folder.runs(), Err(StoreError::Newer { found: 99, .. })));
}

/// Uses a CPU until it is dropped.
struct Neighbour(Child);

impl Neighbour {
    fn move_in() -> Self {
        Self(Command::new("/bin/sh").args(["-c", "while :; do :; done"]).spawn().unwrap())
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_disturbed_run_is_measured_again_within_bounds_and_never_twice_after_a_resume() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("runs");
    let mut spec = spec(home.path(), "tpcw.simple", RatePlan::List(vec![20.0, 40.0]));
    // Long enough for the neighbour to be seen where the machine stands still for a while.
    (spec.retries, spec.duration) = (1, Nanos::from_secs(4));
    let first = folder(&root, &spec);
    let neighbour = Neighbour::move_in();
    let summary = measure(&spec, &first, usize::MAX);
    drop(neighbour);
    // A third of four runs is one.
    let runs = first.runs().unwrap();
    assert_eq!(runs.iter().map(|run| run.set_aside.len()).sum::<usize>(), 1);
    assert_eq!((runs.len(), summary.runs_done, summary.complete), (4, 4, true));
    let run = runs.iter().find(|run| !run.set_aside.is_empty()).unwrap();
    assert_eq!(run.repeat, 1, "the first block has its share first");
    assert!(run.set_aside[0].disturbance().is_too_large(), "{:?}", run.set_aside);
    assert!(run.disturbance().weight() <= run.set_aside[0].disturbance().weight());
    let again = format!("runs/c{:02}-r1.attempt-2/run.json", run.cell);
    assert!(first.path().join(again).is_file());
    let cell = summary.cells.iter().find(|cell| cell.cell == run.cell).unwrap();
    assert_eq!((cell.runs, cell.attempts_set_aside), (2, 1));
    assert!(cell.caveats.iter().any(|caveat| caveat.code == "measured-again"), "{:?}", cell.caveats);

    let path = first.path().to_owned();
    drop(first);
    std::fs::create_dir(path.join("runs/c01-r2.attempt-2.part")).unwrap();
    let resumed = StudyFolder::resume(&path).unwrap();
    let mut begun = 0;
    let counted = &mut |event| begun += u32::from(matches!(event, StudyEvent::RunBegins { .. }));
    let again = profile::run(&spec, &resumed, &Stop::default(), counted).unwrap();
    assert_eq!((begun, &again), (0, &summary));
    assert!(!path.join("runs/c01-r2.attempt-2.part").exists());
}

#[test]
fn a_full_disk_costs_the_run_in_progress_and_no_other() {
    let home = tempfile::tempdir().unwrap();
    let spec = spec(home.path(), "tpcw.simple", RatePlan::List(vec![20.0]));
    let folder = folder(&home.path().join("runs"), &spec);
    let part = folder.path().join("runs/c01-r2.part");
    let no_device = std::cell::OnceCell::new();
    // Writing to a device like /dev/full fails as on a full disk. The end of the server is told before anything is written.
    let fill = &mut |_| {
        let file = part.join("run.json.new");
        if part.is_dir() && !file.exists() {
            let made =
                Command::new("mknod").arg(&file).args(["c", "1", "7"]).output().expect("mknod is there");
            if !made.status.success() {
                let _ = no_device.set(String::from_utf8_lossy(&made.stderr).into_owned());
            }
        }
    };
    let outcome = profile::run(&spec, &folder, &Stop::default(), fill);
    if let Some(why) = no_device.get() {
        return left_out(format!("no device can be made: {why}"));
    }
    let error = outcome.unwrap_err();
    assert!(error.to_string().contains("No space left"), "{error}");
    assert!(error.hint().unwrap().contains("--resume"), "{:?}", error.hint());
    assert_eq!(keys(&folder), [(1, 1)]);
    assert!(!part.exists(), "a run that is lost still takes space");
    let summary = measure(&spec, &folder, usize::MAX);
    assert!(summary.complete);
    assert_eq!(keys(&folder), [(1, 1), (1, 2)]);
}
