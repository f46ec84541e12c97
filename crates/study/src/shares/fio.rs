//! fio as a client that always wants the same number of I/Os outstanding.

use crate::published::{PublishedError, Result, While};
use evenkeel_core::share::simulation::DiskPlan;
use evenkeel_os::alone;
use evenkeel_os::process::Owned;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A running fio; it ends when this is dropped.
#[derive(Debug)]
pub struct Fio {
    process: Owned,
    log: PathBuf,
}

/// Whether fio is there and speaks NBD.
pub fn check() -> Result<()> {
    let hint = "install a fio with the engine nbd (Debian: apt install fio), or leave live=yes out";
    let said = Command::new("fio").arg("--enghelp").stdin(Stdio::null()).output();
    let outside =
        |error: std::io::Error| PublishedError::Outside { source: error.into(), hint: Some(hint.to_owned()) };
    let said = said.map_err(outside).doing(|| "starting fio")?;
    match String::from_utf8_lossy(&said.stdout).lines().any(|line| line.trim() == "nbd") {
        true => Ok(()),
        false => Err(PublishedError::with_hint("this fio has no engine nbd", hint)),
    }
}

impl Fio {
    /// Reads and writes at random places of the disk at `uri` for so long. What it prints goes to `log`.
    pub fn start(uri: &str, plan: &DiskPlan, time: Duration, seed: u64, log: &Path) -> Result<Self> {
        let mut command = Command::new("fio");
        command.args(["--name=client", "--ioengine=nbd", "--time_based=1", "--norandommap=1", "--thread=1"]);
        let writes = (100.0 * plan.writes).round();
        command.arg(format!("--rw={}", if writes > 0.0 { "randrw" } else { "randread" }));
        if writes > 0.0 {
            command.arg(format!("--rwmixwrite={writes}"));
        }
        command.args([
            format!("--uri={uri}"),
            format!("--bs={}", plan.bytes),
            format!("--iodepth={}", plan.depth),
        ]);
        command.args([format!("--runtime={}ms", time.as_millis()), format!("--randseed={seed}")]);
        let said = File::create(log).doing(|| format!("making {}", log.display()))?;
        command.stdin(Stdio::null()).stdout(said.try_clone().doing(|| "starting fio")?).stderr(said);
        if let Some(folder) = log.parent() {
            command.current_dir(folder);
        }
        alone(&mut command);
        Ok(Self { process: Owned(command.spawn().doing(|| "starting fio")?), log: log.to_owned() })
    }

    pub fn runs(&mut self) -> Result<bool> {
        match self.process.0.try_wait().doing(|| "waiting for fio")? {
            None => Ok(true),
            Some(status) if status.success() => Ok(false),
            Some(status) => {
                let said = std::fs::read_to_string(&self.log).unwrap_or_default();
                let said = said.lines().take(5).collect::<Vec<_>>().join("; ");
                Err(PublishedError::wrong(format!("fio ended with {status}: {said}")))
            }
        }
    }
}
