//! What comes from outside in the middle of a study: a neighbour on the machine, a full disk.

use super::*;
use crate::left_out::left_out;
use std::process::{Child, Command};

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
