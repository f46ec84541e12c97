//! The name that a user gives a study: that of its folder.

use super::goes_on;
use crate::config::study::is_name;
use crate::failure::WithHint;
use anyhow::{Result, anyhow};
use std::path::Path;

/// Words that mean something else where a study is named.
const TAKEN: [&str; 2] = ["last", "delete"];

/// Refuses a name that no folder can have, or that another study has.
pub fn check(root: &Path, name: &str) -> Result<()> {
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
