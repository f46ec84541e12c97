//! A study on a disk whose power goes right after its run ended.

use super::disk::{blank, can_mount};
use super::volatile::OnVolatile;
use crate::cli::words;
use crate::guard::server::Server;
use crate::sandbox::measured;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::tempdir;

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

#[test]
fn a_run_that_is_finished_is_whole_after_a_power_cut() {
    if !can_mount() {
        return;
    }
    let (folder, server) = (tempdir().expect("a folder"), Server::up(&[]));
    let workload = server.workload("point", &[("one", "SELECT 1")]);
    blank(folder.path(), 128 << 20);
    let mut disk = OnVolatile::mount(folder.path(), false, &["--mkfs", "ext4"]).expect("a mount");
    // A run of a second is too short to be valid, and it is measured all the same.
    let flags = "--rate 50 --repeats 1 --duration 1s --warm-up 0s --workload";
    measured(disk.at(), &words(&format!("profile {} {flags} {workload}", server.url())));
    disk.cut_power();
    disk.unmount();

    let disk = OnVolatile::mount(folder.path(), false, &[]).expect("a mount");
    let studies = entries(&disk.at().join("runs"));
    let runs = entries(&studies.first().expect("the study is there").join("runs"));
    assert!(!runs.is_empty(), "the run is not there");
    // Where the machine was disturbed, there are several attempts.
    for run in runs {
        // Under the name that it has while it is written it would count for nothing, however whole it is.
        assert!(run.extension().is_none_or(|end| end != "part"), "{} has not its name", run.display());
        let files = entries(&run);
        assert!(files.len() >= 4, "{files:?}");
        for file in files {
            let bytes = fs::metadata(&file).expect("a file").len();
            assert!(bytes > 0, "{} is empty", file.display());
        }
    }
    disk.down();
}
