//! A stored study, as the commands that read one name it.

use super::goes_on;
use crate::config::study::is_name;
use crate::console::{Session, look_at_errors};
use crate::failure::WithHint;
use crate::out;
use crate::table::{self, Damage};
use anyhow::{Result, anyhow};
use evenkeel_study::store::{self, StoreError, StudyFolder};
use std::path::{Path, PathBuf};

/// Flags that name a stored study.
#[derive(Debug, clap::Args)]
pub struct StoredArgs {
    /// Study: its folder, its name or a prefix of it, or `last`
    #[arg(default_value = "last")]
    pub study: String,
    /// Folder for studies [default: HOME/runs]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

impl StoredArgs {
    /// Where it is.
    pub fn path(&self, session: &Session) -> Result<PathBuf> {
        path(session, self.output.as_ref(), &self.study)
    }
}

/// The folder of a study by name.
pub fn path(session: &Session, output: Option<&PathBuf>, name: &str) -> Result<PathBuf> {
    Ok(store::resolve(&session.runs_dir(output), name)?)
}

/// Refuses to go on by this command with what another one made.
pub fn check_command(folder: &Path, own: &str) -> Result<()> {
    match (goes_on::made_by(folder), goes_on::command(folder)) {
        (Some(made_by), Some(command)) if made_by != own => {
            Err(anyhow!("{} is a {made_by} and not a {own}", folder.display()))
                .hint(format!("continue it with `{command}`"))
        }
        _ => Ok(()),
    }
}

/// What is wrong with files of a study, and what to do; `None` for none of them. Of several the first is named.
pub fn damage(errors: &[StoreError]) -> Option<Damage> {
    let (first, others) = errors.split_first()?;
    let more = if others.is_empty() { String::new() } else { format!(", and {} more like it", others.len()) };
    let hint = first.hint().map(|hint| goes_on::named_by_file(hint, first.path()));
    Some(Damage { text: format!("{first}{more}"), hint })
}

/// Says on the error stream that a study that was to go on has nothing left to measure.
pub fn tell_complete(session: &Session, folder: &StudyFolder) {
    if !session.quiet {
        let name = folder.path().file_name().unwrap_or_default().to_string_lossy();
        out::tell(&format!("{name} is complete, and nothing is left to measure\n"));
    }
}

/// Says on the error stream what of a study cannot be read beside what was asked for; whether there is such a thing.
pub fn tell_damage(folder: &StudyFolder) -> Result<bool> {
    let Some(damage) = damage(&folder.damage()?) else { return Ok(false) };
    let name = folder.path().file_name().unwrap_or_default().to_string_lossy();
    out::tell_painted(&table::damage(&name, &damage, look_at_errors()));
    Ok(true)
}

/// Words that mean something else where a study is named.
const TAKEN: [&str; 2] = ["last", "delete"];

/// Refuses a name that no folder can have, or that another study has.
pub fn check_name(root: &Path, name: &str) -> Result<()> {
    if !is_name(name) || TAKEN.contains(&name) {
        return Err(anyhow!("--name {name:?} is not a name for a study"))
            .hint("use letters, digits, - and _, at most 40, and not `last` or `delete`");
    }
    let folder = root.join(name);
    if !folder.exists() {
        return Ok(());
    }
    let goes_on =
        goes_on::command(&folder).map_or_else(String::new, |command| format!("; `{command}` continues it"));
    Err(anyhow!("there is a study {name} already, {}", folder.display()))
        .hint(format!("take another name, or delete it: `evenkeel runs delete {name}`{goes_on}"))
}
