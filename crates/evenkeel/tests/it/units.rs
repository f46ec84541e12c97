//! The units of systemd that are shipped, as far as they can be tried without a systemd that runs.

use crate::cli::evenkeel;
use std::fs;
use std::path::{Path, PathBuf};

/// Where a unit looks for the binary.
const INSTALLED: &str = "/usr/bin/evenkeel";

fn units() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib");
    let files =
        fs::read_dir(folder).expect("the units are shipped").map(|file| file.expect("an entry").path());
    let units = files.filter(|file| file.extension().is_some_and(|extension| extension == "service"));
    let units: Vec<_> = units.map(|unit| (unit.clone(), fs::read_to_string(unit).expect("text"))).collect();
    assert!(units.len() >= 2, "{units:?}");
    units
}

/// The commands that a unit runs the binary with, without its path.
fn commands(unit: &str) -> Vec<Vec<&str>> {
    let lines = unit
        .lines()
        .filter_map(|line| line.strip_prefix("Exec")?.split_once('='))
        .map(|(_, command)| command);
    let ours = lines.filter_map(|command| command.strip_prefix(INSTALLED));
    ours.map(|command| command.split_whitespace().collect()).collect()
}

#[test]
fn a_unit_starts_what_it_has_checked_with_a_file_that_its_own_words_install() {
    let home = tempfile::tempdir().expect("a temporary directory");
    for (path, unit) in units() {
        let [checked, started] = &commands(&unit)[..] else {
            panic!("{} has other commands", path.display())
        };
        let without: Vec<&str> = checked.iter().copied().filter(|word| *word != "--check").collect();
        assert_eq!((&without, checked.len()), (started, started.len() + 1), "{}", path.display());
        let config = started.last().expect("a file");
        let name = Path::new(config).file_name().and_then(|name| name.to_str()).expect("a name");
        assert!(unit.contains(&format!("examples/{name} {config}")), "{}", path.display());
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
        // As its user edits it: the example leaves open where a disk appears.
        let edited = fs::read_to_string(example)
            .expect("an example")
            .replace("nbd = []", "nbd = \"/run/evenkeel/disks\"");
        let file = home.path().join(name);
        fs::write(&file, edited).expect("a file");
        let arguments =
            checked.iter().map(|word| if word == config { file.to_str().expect("text") } else { word });
        let output = evenkeel(home.path(), &arguments.collect::<Vec<_>>());
        assert!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
    }
}
