//! Whoever goes on with a study must mean one of the command's own kind.

use super::goes_on::{OF_A_FILE, command, kind};
use crate::failure::WithHint;
use anyhow::{Result, anyhow};
use evenkeel_study::profile;
use std::path::Path;

/// Refuses to go on with a study of another kind than this one.
///
/// # Errors
/// It is of another kind; with the command that goes on with it.
pub fn check(folder: &Path, wanted: &str) -> Result<()> {
    let Some(kind) = kind(folder).filter(|kind| kind != wanted) else { return Ok(()) };
    let words = |kind: &str| match kind {
        profile::NAME => "a profile".to_owned(),
        OF_A_FILE => "the study of a file".to_owned(),
        published => format!("a study of {published}"),
    };
    let refused = anyhow!("{} is {} and not {}", folder.display(), words(&kind), words(wanted));
    Err(refused).hint(match command(folder) {
        Some(command) => format!("continue it with `{command}`"),
        None => "this version does not know its kind; another one may".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::study::goes_on::named_by_file;
    use evenkeel_study::store::format::PlanFile;
    use evenkeel_study::store::{GOES_ON, StudyFolder};

    #[test]
    fn each_kind_of_study_goes_on_by_its_own_command_and_is_refused_by_the_others() {
        let home = tempfile::tempdir().unwrap();
        let runs = home.path().join("runs");
        let profile = PlanFile { id: "one".into(), kind: profile::NAME.into(), ..fixture::demo().plan };
        let own = PlanFile { id: "two".into(), kind: "flush".into(), ..profile.clone() };
        for plan in [&profile, &own] {
            drop(StudyFolder::create(&runs, plan).unwrap());
        }
        let published = evenkeel_study::harness::Plan {
            format: 1,
            id: "three".into(),
            kind: "databases".into(),
            ..Default::default()
        };
        drop(StudyFolder::create_for(&runs, "three", &published).unwrap());
        let refused =
            |name: &str, wanted: &str| check(&runs.join(name), wanted).map_err(|error| format!("{error:?}"));
        for (name, kind, goes_on) in [
            ("one", profile::NAME, "evenkeel profile --resume one"),
            ("two", OF_A_FILE, "evenkeel study --resume two"),
            ("three", "databases", "evenkeel study shares --databases --resume three"),
        ] {
            assert_eq!(command(&runs.join(name)).as_deref(), Some(goes_on));
            refused(name, kind).unwrap();
            for other in [profile::NAME, OF_A_FILE, "databases", "telecom"] {
                let told = refused(name, other);
                assert!(other == kind || told.is_err_and(|told| told.contains(goes_on)), "{name} as {other}");
            }
        }
        let run = runs.join("two/runs/c01-r1/run.json");
        let hint = named_by_file(&format!("go on by {GOES_ON}"), Some(&run));
        assert_eq!(hint, "go on by `evenkeel study --resume two`");
        assert_eq!(named_by_file("go on", None), "go on");
    }
}
