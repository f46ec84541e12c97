//! What a power cut leaves of what was written.

use super::*;
use crate::store::{Series, write_tables};
use evenkeel_core::Nanos;
use evenkeel_lab::load::nothing_measured;
use std::cell::RefCell;
use std::collections::BTreeMap;

thread_local! {
    /// What was in each file and each folder when it was last made durable: all that a power cut leaves for certain. A real
    /// file system mostly leaves more, ext4 also renames that were followed by a sync of something else.
    static DURABLE: RefCell<BTreeMap<PathBuf, Vec<u8>>> = const { RefCell::new(BTreeMap::new()) };
}

/// Keeps in mind what is made durable.
pub(super) fn is_synced(path: &Path) {
    DURABLE.with_borrow_mut(|durable| durable.insert(path.to_owned(), content(path)));
}

fn durable(path: &Path) -> Option<Vec<u8>> {
    DURABLE.with_borrow(|durable| durable.get(path).cloned())
}

/// The bytes of a file, or the names in a folder.
fn content(path: &Path) -> Vec<u8> {
    if path.is_dir() {
        let entries = read_dir(path).unwrap();
        entries.iter().flat_map(|entry| [file_name(entry).as_bytes(), b"\n"].concat()).collect()
    } else {
        fs::read(path).unwrap()
    }
}

#[test]
fn all_of_a_run_is_durable_before_it_has_its_name_and_the_name_when_it_is_finished() {
    let home = tempfile::tempdir().unwrap();
    let folder = StudyFolder { path: home.path().to_owned(), _lock: None };
    fs::create_dir(folder.runs_dir()).unwrap();
    let unfinished = folder.begin_run("c01-r2").unwrap();
    fs::write(unfinished.join("requests.csv.zst"), "a log").unwrap();
    let run = RunFile { cell: 1, repeat: 2, attempt: 1, ..RunFile::default() };
    let tables = |dir: &Path| write_tables(dir, &nothing_measured(), &Series::default());
    let whole = folder.finish_run("c01-r2", &run, tables).unwrap();

    // It was made durable under the name that it had before: what comes after the rename comes too late.
    let files = read_dir(&whole).unwrap();
    assert_eq!(files.len(), 5, "{files:?}");
    for file in files {
        let before = unfinished.join(file_name(&file));
        assert!(durable(&before) == Some(content(&file)), "{} may be lost", before.display());
    }
    assert!(durable(&unfinished) == Some(content(&whole)), "names in the folder of the run may be lost");
    assert!(durable(&folder.runs_dir()) == Some(b"c01-r2\n".to_vec()), "the name of the run may be lost");
}

#[test]
fn a_manifest_is_durable_before_it_has_its_name_and_the_name_when_it_is_written() {
    let home = tempfile::tempdir().unwrap();
    let manifest = home.path().join("manifest.json");
    write_json(&manifest, &ManifestFile::default()).unwrap();
    assert!(durable(&home.path().join("manifest.json.new")) == Some(content(&manifest)));
    assert!(durable(home.path()) == Some(b"manifest.json\n".to_vec()), "its name may be lost");
}

#[test]
fn a_damaged_manifest_is_named_in_a_list() {
    let home = tempfile::tempdir().unwrap();
    let folder = StudyFolder { path: home.path().to_owned(), _lock: None };
    fs::create_dir(folder.runs_dir()).unwrap();
    assert!(folder.missing().unwrap().is_empty(), "a study that was killed early has none");
    fs::write(home.path().join("manifest.json"), "{").unwrap();
    let told = folder.missing().unwrap().remove(0).to_string();
    assert!(told.contains("manifest.json is damaged"), "{told}");
}

#[test]
fn what_is_written_beside_a_run_is_read_again() {
    let home = tempfile::tempdir().unwrap();
    let folder = StudyFolder { path: home.path().to_owned(), _lock: None };
    fs::create_dir(folder.runs_dir()).unwrap();
    let mut load = nothing_measured();
    for ms in 1..=100 {
        load.response.record(ms * 1_000_000).unwrap();
    }
    load.intervals.push(evenkeel_lab::load::Interval {
        arrivals: 4,
        completed: 3,
        responses: 4,
        response_sum: Nanos::from_millis(10),
        in_flight: 1,
        ..evenkeel_lab::load::Interval::default()
    });
    let columns = ["theta_percent", "steal_percent"].map(str::to_owned).to_vec();
    let sense = Series { columns, rows: vec![(0.5, vec![Some(12.5), None])] };
    let run = RunFile { cell: 3, repeat: 1, attempt: 2, ..RunFile::default() };
    folder.begin_run("c03-r1.attempt-2").unwrap();
    folder.finish_run("c03-r1.attempt-2", &run, |dir| write_tables(dir, &load, &sense)).unwrap();

    let read = folder.run_folder(&run);
    let interval = read.intervals().unwrap()[0];
    assert_eq!((interval.responses, interval.completed, interval.backlog), (4.0, 3.0, 1.0));
    assert!((interval.response_mean_ms - 2.5).abs() < 1e-9);
    assert_eq!(read.sense().unwrap(), sense);
    assert_eq!(sense.over_time("theta_percent"), [(0.5, 12.5)]);
    assert!(sense.over_time("steal_percent").is_empty() && sense.over_time("none").is_empty());
    let response = read.response().unwrap();
    assert_eq!(response.count(), 100);
    assert!((response.at_percentile_ms(50.0).unwrap() - 50.0).abs() < 0.1);
}

/// A folder of a study, with a plan that can be seen and not read.
fn study(root: &Path, name: &str) -> PathBuf {
    let folder = root.join(name);
    fs::create_dir_all(folder.join("runs")).unwrap();
    fs::write(folder.join("plan.json"), "{").unwrap();
    folder
}

#[test]
fn a_whole_name_is_that_study_though_others_begin_with_it() {
    let home = tempfile::tempdir().unwrap();
    let before = study(home.path(), "before");
    study(home.path(), "before-2");
    assert_eq!(resolve(home.path(), "before").unwrap(), before);
    let error = resolve(home.path(), "befor").unwrap_err();
    assert!(matches!(error, StoreError::Ambiguous { .. }), "{error}");
}

#[test]
fn the_last_study_is_the_newest_that_has_a_result_whatever_their_names() {
    let home = tempfile::tempdir().unwrap();
    let made = |name: &str, created: u64, has_run: bool| {
        let folder = study(home.path(), name);
        fs::write(folder.join("plan.json"), own_plan(name, created)).unwrap();
        if has_run {
            fs::create_dir(folder.join("runs/c01-r1")).unwrap();
        }
        folder
    };
    let (old, after, begun) = (made("zz", 10, true), made("after", 20, true), made("begun", 30, false));
    assert_eq!(resolve(home.path(), "last").unwrap(), after);
    assert_eq!(resolve_begun(home.path(), "last").unwrap(), begun);
    let listed: Vec<String> = list(home.path()).unwrap().into_iter().map(|one| one.name).collect();
    assert_eq!(listed, ["zz", "after", "begun"]);

    let to_delete = |name: &str| StudyFolder::to_delete(home.path(), name);
    for name in ["z", "zz/runs", "../zz", ""] {
        assert!(matches!(to_delete(name), Err(StoreError::Unknown { .. })), "{name}");
    }
    let measuring = StudyFolder::resume(&old).unwrap();
    assert!(matches!(to_delete("zz"), Err(StoreError::Locked(_))));
    drop(measuring);
    to_delete("zz").unwrap().delete().unwrap();
    assert!(!old.exists() && after.exists());
}

fn own_plan(id: &str, created: u64) -> String {
    format!(r#"{{"format":1,"id":"{id}","created_unix_s":{created}}}"#)
}

#[test]
fn only_a_folder_with_a_plan_of_evenkeel_is_deleted() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("project");
    fs::create_dir_all(folder.join("runs")).unwrap();
    let thesis = folder.join("thesis.txt");
    fs::write(&thesis, "three years").unwrap();
    let refused = || StudyFolder::to_delete(home.path(), "project").unwrap_err();
    let no_plan = refused();
    assert!(matches!(no_plan, StoreError::Foreign { .. }) && no_plan.hint().is_some(), "{no_plan}");
    for plan in ["{", "[]", r#"{"format_version":"1.2"}"#, r#"{"format":1}"#, r#"{"format":1,"id":"x"}"#] {
        fs::write(folder.join("plan.json"), plan).unwrap();
        let error = refused();
        assert!(matches!(error, StoreError::Foreign { .. }), "{plan}: {error}");
        let said = error.to_string();
        assert!(said.contains("project is not deleted") && said.contains("plan.json"), "{said}");
    }
    assert!(thesis.exists() && !folder.join("lock").exists(), "nothing is left in a folder of others");

    fs::write(folder.join("plan.json"), own_plan("x", 1)).unwrap();
    StudyFolder::to_delete(home.path(), "project").unwrap().delete().unwrap();
    assert!(!folder.exists());
}

#[test]
fn a_folder_in_the_place_of_a_file_is_damage_and_a_lock_that_leads_elsewhere_is_not_followed() {
    let home = tempfile::tempdir().unwrap();
    let folder = study(home.path(), "gift");
    let victim = home.path().join("victim");
    fs::write(&victim, "mine").unwrap();
    std::os::unix::fs::symlink(&victim, folder.join("lock")).unwrap();
    assert!(StudyFolder::resume(&folder).is_err());
    assert_eq!(fs::read(&victim).unwrap(), b"mine");
    fs::remove_file(folder.join("plan.json")).unwrap();
    fs::create_dir(folder.join("plan.json")).unwrap();
    let error = StudyFolder::open(&folder).unwrap_err().to_string();
    assert!(error.contains("plan.json") && error.contains("a pipe or a device"), "{error}");
}

#[test]
fn a_run_is_known_by_its_name_and_one_that_somebody_moved_away_is_not() {
    let runs = ["c01-r2", "c01-r2.attempt-2", "work-0.5-small-r1", "work-0.5-small-r1.attempt-3"];
    assert!(runs.iter().all(|name| is_finished(Path::new(name))));
    let none =
        ["c01-r2.part", "c01-r2.attempt-2.part", "work-0.5-r1.part", "c01-r2.damaged", "work-0.5-r1.old"];
    assert!(none.iter().all(|name| !is_finished(Path::new(name))));
}

#[test]
fn what_was_being_written_when_the_disk_was_full_or_somebody_killed_it_does_not_stay() {
    let home = tempfile::tempdir().unwrap();
    let path = study(home.path(), "one");
    // No file takes the name of a folder that is not empty, as none is written where there is no space left.
    let (summary, beside) = (path.join("summary.json"), path.join("summary.json.new"));
    fs::create_dir_all(summary.join("in-the-way")).unwrap();
    let error = write_json(&summary, &ManifestFile::default()).unwrap_err();
    assert!(
        error.to_string().starts_with("cannot write ") && error.to_string().contains("summary.json:"),
        "{error}"
    );
    assert!(!beside.exists(), "what was written beside it stays");

    fs::write(&beside, "half of it").unwrap();
    fs::write(path.join("notes.new"), "of somebody's").unwrap();
    fs::write(path.join("plan.json"), r#"{"format":1,"kind":"profile"}"#).unwrap();
    drop(StudyFolder::open(&path).unwrap());
    assert!(beside.exists(), "a reader takes nothing from whoever is writing it");
    drop(StudyFolder::resume(&path).unwrap());
    assert!(!beside.exists() && path.join("notes.new").exists());
}
