//! The configuration of a host as a study writes it for the process that will be that host.

use super::{Result, While};
use serde_json::json;
use std::fmt;
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
