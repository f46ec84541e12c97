//! Programs of the system are run that know devices and file systems.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Folders of programs that only root has in its path.
const MORE_PATHS: &str = ":/usr/sbin:/sbin";

#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    #[error("starting {program}")]
    Start { program: String, source: io::Error },
    #[error("{program}: {said}")]
    Failed { program: String, said: String },
}

impl ToolError {
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Start { .. } => Some("it is in one of the packages util-linux, mount and e2fsprogs"),
            Self::Failed { .. } => None,
        }
    }
}

/// What a program said on its standard output, where it did what it was asked.
/// Errors: it cannot be started, or failed; with what it said.
pub fn run(program: &str, arguments: &[&OsStr]) -> Result<String, ToolError> {
    let output = output(program, arguments)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim().strip_prefix(&format!("{program}: ")).unwrap_or(said.trim());
    let said = if said.is_empty() { "failed and does not say why" } else { said };
    Err(ToolError::Failed { program: program.to_owned(), said: said.to_owned() })
}

pub fn is_there(program: &str) -> bool {
    path().split(':').any(|folder| Path::new(folder).join(program).is_file())
}

/// How a program ended, whatever that means.
pub fn output(program: &str, arguments: &[&OsStr]) -> Result<Output, ToolError> {
    let mut command = Command::new(program);
    command.args(arguments).env("PATH", path()).env("LC_ALL", "C").stdin(Stdio::null());
    command.output().map_err(|source| ToolError::Start { program: program.to_owned(), source })
}

fn path() -> String {
    std::env::var("PATH").unwrap_or_default() + MORE_PATHS
}
