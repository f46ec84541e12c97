//! By which command a study goes on. Nothing else says so, because profiles have a command of their own.

use crate::format;
use evenkeel_study::profile;
use evenkeel_study::store::{GOES_ON, StudyFolder};
use std::path::Path;

/// The command of all studies but profiles.
pub const STUDY: &str = "study";

/// The folder of a home that has its studies.
const RUNS: &str = "runs";

/// The command that made a study; `None` where its plan cannot be read.
pub fn made_by(folder: &Path) -> Option<&'static str> {
    let kind = StudyFolder::open(folder).ok()?.head().ok()?.kind;
    Some(if kind == profile::NAME { profile::NAME } else { STUDY })
}

/// The command with which the study in a folder goes on; `None` where its plan cannot be read.
pub fn command(folder: &Path) -> Option<String> {
    let command = made_by(folder)?;
    // Elsewhere than in a home only its path finds it.
    let is_at_home = folder.parent().is_some_and(|parent| parent.ends_with(RUNS));
    let name = folder.file_name().filter(|_| is_at_home).unwrap_or(folder.as_os_str());
    Some(format!("{} {command} --resume {}", format::program(), name.to_string_lossy()))
}

/// The hint of a library, which knows no commands, with the command of this study in it.
pub fn named(hint: &str, folder: &Path) -> String {
    match command(folder).filter(|_| hint.contains(GOES_ON)) {
        Some(command) => hint.replace(GOES_ON, &format!("`{command}`")),
        None => hint.to_owned(),
    }
}

/// The same for an error about a file in a study's folder, or below it.
pub fn named_by_file(hint: &str, file: Option<&Path>) -> String {
    let folder = file.and_then(|file| file.ancestors().find(|above| above.join("plan.json").is_file()));
    folder.map_or_else(|| hint.to_owned(), |folder| named(hint, folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::study::stored::check_command;
    use evenkeel_study::store::format::PlanFile;

    #[test]
    fn a_profile_goes_on_by_its_command_and_all_else_by_that_of_studies() {
        let home = tempfile::tempdir().unwrap();
        let runs = home.path().join("runs");
        let published = evenkeel_study::harness::Plan {
            format: 1,
            id: "three".into(),
            kind: "databases".into(),
            ..Default::default()
        };
        drop(StudyFolder::create_for(&runs, "three", &published).unwrap());
        for (name, kind) in [("one", profile::NAME), ("two", "flush")] {
            let plan = PlanFile { id: name.into(), kind: kind.into(), ..fixture::demo().plan };
            drop(StudyFolder::create_for(&runs, &plan.id, &plan).unwrap());
        }
        for (name, own, other) in
            [("one", profile::NAME, STUDY), ("two", STUDY, profile::NAME), ("three", STUDY, profile::NAME)]
        {
            let folder = runs.join(name);
            let goes_on = format!("evenkeel {own} --resume {name}");
            assert_eq!(command(&folder).as_deref(), Some(goes_on.as_str()));
            check_command(&folder, own).unwrap();
            let told = format!("{:?}", check_command(&folder, other).unwrap_err());
            assert!(told.contains(&goes_on), "{told}");
        }
        let run = runs.join("two/runs/c01-r1/run.json");
        let hint = named_by_file(&format!("go on by {GOES_ON}"), Some(&run));
        assert_eq!(hint, "go on by `evenkeel study --resume two`");
        assert_eq!(named_by_file("go on", None), "go on");
    }
}
