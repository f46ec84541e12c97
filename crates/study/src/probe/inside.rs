//! Our own probes run in a process of this program, since a domain is joined by processes.

use super::place::Place;
use crate::published::{Result, While};
use evenkeel_os::Stop;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// The subcommand of this program that prints what [`super::answer`] says to the question behind it.
pub const WORD: &str = "probe-inside";

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Question {
    Machine { seconds: u32 },
    Flush { file: PathBuf, time: Duration },
}

const AROUND: Duration = Duration::from_secs(60);

/// Asks a process of this program, in that place.
pub(super) fn ask<T: DeserializeOwned>(
    place: &Place,
    question: &Question,
    takes: Duration,
    stop: &Stop,
) -> Result<Option<T>> {
    let program = std::env::current_exe().doing(|| "looking for the program of this process")?;
    let mut command = Command::new(program);
    command.arg(WORD).arg(serde_json::to_string(question)?);
    let said = place.run(&mut command, takes + AROUND, stop)?;
    Ok(said.map(|said| serde_json::from_str(&said)).transpose()?)
}
