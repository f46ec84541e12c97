//! Studies on a private server that somebody keeps.

use super::*;
use evenkeel_lab::data;
use evenkeel_site::copy::Snapshot;
use evenkeel_site::sandbox::{self, Lifetime, Sandbox};
use evenkeel_site::server::{Control, Target};

/// A private server that somebody keeps, with data; it ends with the test.
struct Kept(std::path::PathBuf);

impl Kept {
    fn start(home: &Path) -> Self {
        let spec = SandboxSpec { lifetime: Lifetime::Detached, ..SandboxSpec::new(home, "kept") };
        let server = Sandbox::up(&spec, &Stop::default(), &mut drop).unwrap();
        let target = Target { database: Some(DataSpec::DATABASE.into()), ..server.target() };
        data::populate(&target, &data_spec(), &Stop::default(), &mut drop).unwrap();
        Self(home.to_owned())
    }

    fn found(&self) -> Sandbox {
        sandbox::find(&self.0, "kept").unwrap()
    }

    /// Whether its rows are those of the seed.
    fn is_untouched(&self) -> bool {
        let target = Target { database: Some(DataSpec::DATABASE.into()), ..self.found().target() };
        data::verify(&target, None).is_ok()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        sandbox::wake(&self.0, "kept", &Stop::default(), &mut drop).unwrap().down(&mut drop).unwrap();
    }
}

fn named(home: &Path, workload: &str) -> StudySpec {
    let mut spec = spec(home, workload, RatePlan::List(vec![20.0, 40.0]));
    spec.sites[0].place =
        ServerSpec::Named { home: home.to_owned(), name: "kept".into(), database: DataSpec::DATABASE.into() };
    spec.series[0].pool = None;
    spec
}

#[test]
fn a_named_private_server_is_restarted_for_each_run_and_left_as_it_was_found() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("runs");
    let kept = Kept::start(home.path());
    let before = kept.found().pid();
    let spec = named(home.path(), "tpcw.write");
    let folder = folder(&root, &spec);
    let mut starts = 0;
    let counted = &mut |event| {
        starts += u32::from(matches!(event, StudyEvent::Preparing(text) if text.starts_with("starting")));
    };
    let summary = profile::run(&spec, &folder, &Stop::default(), counted).unwrap();
    assert!(summary.complete && summary.cells.iter().all(|cell| cell.counts.completed > 0), "{summary:?}");
    // Once for preparing, for each of four runs, and to be up in the end.
    assert_eq!(starts, 6);
    assert_ne!(kept.found().pid(), before);
    assert!(kept.is_untouched(), "write runs left something behind");
    assert!(!home.path().join("sandboxes/kept/snapshot").exists());
}

#[test]
fn a_study_that_was_killed_gives_a_named_server_its_data_back_and_keeps_others_off() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("runs");
    let kept = Kept::start(home.path());
    let spec = named(home.path(), "tpcw.write");
    let folder = folder(&root, &spec);
    // What a kill leaves: a copy, a note of whose it is, changed data, and a server that is down.
    kept.found().down(&mut drop).unwrap();
    let dir = home.path().join("sandboxes/kept");
    Snapshot::take(&dir.join("data"), &dir.join("snapshot")).unwrap();
    let own = folder.plan().unwrap().identity();
    // The last one had the name of this one, and was deleted.
    for (note, name) in [("another 1", "another"), ("one 0", "one")] {
        std::fs::write(dir.join("snapshot.study"), note).unwrap();
        let refused = profile::run(&spec, &folder, &Stop::default(), &mut drop).unwrap_err();
        let said = format!("changed by study {name},");
        assert!(refused.to_string().contains(&said) && refused.hint().is_some(), "{refused}");
    }

    std::fs::write(dir.join("snapshot.study"), &own).unwrap();
    let target = Target { database: Some(DataSpec::DATABASE.into()), ..kept.found().target() };
    Control::connect(&target).unwrap().exec("DELETE FROM order_line").unwrap();
    assert!(!kept.is_untouched());
    kept.found().down(&mut drop).unwrap();
    std::fs::write(dir.join("data/evenkeel-restoring"), "").unwrap();
    let half = sandbox::wake(home.path(), "kept", &Stop::default(), &mut drop).err().unwrap();
    assert!(half.to_string().contains("half restored"), "{half}");
    profile::recover(home.path(), "kept", &own, &Stop::default(), &mut drop).unwrap();
    assert!(kept.is_untouched());
    assert!(measure(&spec, &folder, usize::MAX).complete);
    assert!(kept.is_untouched() && !dir.join("snapshot.study").exists());
}
