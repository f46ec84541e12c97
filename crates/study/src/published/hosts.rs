//! Hosts of shared storage: their configuration, as a study writes it for the process that will be that host, and what they say of their
//! periods.

use super::program::HostStatus;
use super::{Result, While};
use crate::harness::Series;
use evenkeel_core::share::{DiskUse, Period};
use serde_json::json;
use std::fmt::{self, Display};
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct HostFile {
    /// Name of the host, which the others know it by.
    pub name: String,
    /// Where NBD is served; a host whose disk is mounted needs none.
    pub nbd: Option<&'static str>,
    pub window: WindowFile,
    /// The slot file that is its bus; `None` for a host that reports to nobody.
    pub slots: Option<PathBuf>,
    pub disks: Vec<DiskFile>,
}

#[derive(Clone, Copy, Debug)]
pub struct WindowFile {
    pub law: &'static str,
    /// Latency threshold in seconds.
    pub threshold_s: f64,
    /// From one window to the next, in seconds.
    pub period_s: f64,
    pub initial: f64,
    pub most: f64,
}

/// A disk of it, in front of a simulated array.
#[derive(Clone, Debug)]
pub struct DiskFile {
    pub name: String,
    pub backing: PathBuf,
    /// Of a backing that does not exist yet, as `256M`.
    pub size: Option<&'static str>,
    /// Weight of the disk among all of the array.
    pub share: f64,
    /// File of the simulated array, which all disks on it have in common.
    pub array: PathBuf,
}

impl HostFile {
    pub fn write(&self, path: &Path) -> Result<()> {
        fs::write(path, self.to_string()).doing(|| format!("writing {}", path.display()))
    }
}

impl fmt::Display for HostFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Who starts the host reads its log.
        writeln!(f, "name = {}\nlog = \"json\"", text(&self.name))?;
        if let Some(nbd) = self.nbd {
            writeln!(f, "nbd = {}", text(nbd))?;
        }
        self.window.fmt(f)?;
        if let Some(slots) = &self.slots {
            writeln!(f, "[bus]\naddress = {}", text(&format!("slot:{}", slots.display())))?;
        }
        self.disks.iter().try_for_each(|disk| disk.fmt(f))
    }
}

impl fmt::Display for WindowFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "[window]\nlaw = {}", text(self.law))?;
        writeln!(f, "latency = \"{}us\"", (1e6 * self.threshold_s).round())?;
        writeln!(f, "period = \"{}ms\"", (1e3 * self.period_s).round())?;
        writeln!(f, "initial_window = {:?}\nmax_window = {:?}", self.initial, self.most)
    }
}

impl fmt::Display for DiskFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "[[disk]]\nname = {}", text(&self.name))?;
        writeln!(f, "backing = {}", text(&self.backing.display().to_string()))?;
        if let Some(size) = self.size {
            writeln!(f, "size = {}", text(size))?;
        }
        writeln!(f, "share = {:?}", self.share)?;
        writeln!(f, "simulated = {}", text(&self.array.display().to_string()))
    }
}

/// Strings of JSON are strings of TOML.
fn text(plain: &str) -> String {
    json!(plain).to_string()
}

/// Tells periods that are new from those that were seen.
#[derive(Debug)]
pub(crate) struct Periods {
    /// End of the last period of each host, on its own clock, and the window from then on.
    last: Vec<Option<(f64, f64)>>,
}

impl Periods {
    pub fn new(hosts: usize) -> Self {
        Self { last: vec![None; hosts] }
    }

    /// Where a period is new: the window that it had, and the seconds since the one before that was seen.
    pub fn look(&mut self, host: usize, status: &HostStatus) -> Option<(f64, Option<f64>)> {
        let before = self.last[host].replace((status.at_s, status.window));
        match before {
            // What was wanted in a period met the window that was set at its beginning.
            Some((at_s, window)) => (at_s < status.at_s).then_some((window, Some(status.at_s - at_s))),
            None => Some((status.window, None)),
        }
    }
}

impl HostStatus {
    pub(crate) fn wanted(&self) -> f64 {
        self.period().wanted()
    }

    /// Shares as far as they are used by a period with this window: the published law's beta over its K.
    pub(crate) fn used_shares(&self, window: f64) -> f64 {
        self.period().used_shares(window)
    }

    fn period(&self) -> Period {
        let disks = self.disks.iter().map(|disk| DiskUse { shares: disk.shares, wanted: disk.wanted });
        Period { disks: disks.collect(), ..Period::default() }
    }
}

/// Columns for each host, as `window@a`, and a row for each period: its end, whose it is, and its values.
pub(crate) fn of_hosts<const N: usize>(
    hosts: &[impl Display],
    figures: [&str; N],
    periods: impl Iterator<Item = (f64, usize, [Option<f64>; N])>,
) -> Series {
    let columns: Vec<String> =
        hosts.iter().flat_map(|host| figures.map(|figure| format!("{figure}@{host}"))).collect();
    let row = |(at_s, host, own): (f64, usize, [Option<f64>; N])| {
        let mut values = vec![None; columns.len()];
        values[host * N..(host + 1) * N].copy_from_slice(&own);
        (at_s, values)
    };
    Series { rows: periods.map(row).collect(), columns }
}
