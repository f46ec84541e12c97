//! fio as a client that always wants the same number of I/Os outstanding.

use crate::probe::{Place, Started};
use crate::published::{PublishedError, Result};
use evenkeel_core::share::simulation::DiskPlan;
use evenkeel_os::Stop;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

pub const PATIENCE: Duration = Duration::from_secs(10);

/// Whether fio is there and speaks NBD.
pub fn check(stop: &Stop) -> Result<()> {
    let said = Place::host("/").run(Command::new("fio").arg("--enghelp"), PATIENCE, stop)?;
    match said.is_none_or(|said| said.lines().any(|line| line.trim() == "nbd")) {
        true => Ok(()),
        false => Err(PublishedError::with_hint(
            "this fio has no engine nbd",
            "install a fio with the engine nbd (Debian: apt install fio), or leave live=yes out",
        )),
    }
}

/// Starts one that reads and writes at random places of the disk at `uri` for so long; it works in `folder`.
pub fn start(folder: &Path, uri: &str, plan: &DiskPlan, time: Duration, seed: u64) -> Result<Started> {
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
    Place::host(folder).start(command.current_dir(folder))
}
