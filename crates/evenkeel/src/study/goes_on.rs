//! By which command a study goes on, whatever it is of. Nothing else says so, because each kind has a command of its own.

use evenkeel_study::profile;
use evenkeel_study::published::{self, SHIPPED};
use evenkeel_study::store::{GOES_ON, StudyFolder};
use std::path::Path;

/// The kind of studies that are made of a file of the user's.
pub const OF_A_FILE: &str = "a file";

/// The folder of a home that has its studies.
const RUNS: &str = "runs";

/// What a study is of: `profile`, the name of a published study, or [`OF_A_FILE`]. `None` where its plan cannot be read.
pub fn kind(folder: &Path) -> Option<String> {
    if let Some(published) = published::kind(folder).ok()? {
        return Some(published);
    }
    let kind = StudyFolder::open(folder).ok()?.head().ok()?.kind;
    Some(if kind == profile::NAME { kind } else { OF_A_FILE.to_owned() })
}

/// The command with which the study in a folder goes on; `None` where its plan cannot be read, or this version does not know
/// its kind.
pub fn command(folder: &Path) -> Option<String> {
    let kind = kind(folder)?;
    let of_kind = SHIPPED.iter().find(|shipped| shipped.name == kind).map(|shipped| shipped.command);
    let command = if kind == OF_A_FILE { "study" } else { of_kind? };
    // Elsewhere than in a home only its path finds it.
    let is_at_home = folder.parent().is_some_and(|parent| parent.ends_with(RUNS));
    let name = folder.file_name().filter(|_| is_at_home).unwrap_or(folder.as_os_str());
    Some(format!("evenkeel {command} --resume {}", name.to_string_lossy()))
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
