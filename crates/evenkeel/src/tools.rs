//! Programs of the system that know devices and file systems.

use crate::failure::WithHint;
use anyhow::{Context, Result, anyhow};
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Folders of programs that only root has in its path.
const MORE_PATHS: &str = ":/usr/sbin:/sbin";

/// What a program said on its standard output, where it did what it was asked.
pub fn run(program: &str, arguments: &[&OsStr]) -> Result<String> {
    let output = output(program, arguments)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim().strip_prefix(&format!("{program}: ")).unwrap_or(said.trim());
    Err(anyhow!("{program}: {}", if said.is_empty() { "failed and does not say why" } else { said }))
}

/// Whether a program is there.
pub fn is_there(program: &str) -> bool {
    path().split(':').any(|folder| Path::new(folder).join(program).is_file())
}

/// How a program ended, whatever that means.
pub fn output(program: &str, arguments: &[&OsStr]) -> Result<Output> {
    let mut command = Command::new(program);
    command.args(arguments).env("PATH", path()).env("LC_ALL", "C").stdin(Stdio::null());
    let output = command.output().with_context(|| format!("starting {program}"));
    output.hint("it is in one of the packages util-linux, mount and e2fsprogs")
}

fn path() -> String {
    std::env::var("PATH").unwrap_or_default() + MORE_PATHS
}
