//! The configuration of a host as a study writes it for the process that will be that host.

use anyhow::{Context, Result};
use serde_json::json;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// The configuration of a host.
#[derive(Clone, Debug)]
pub struct HostFile {
    pub name: String,
    /// Where NBD is served; a host whose disk is mounted needs none.
    pub nbd: Option<&'static str>,
    pub window: WindowFile,
    /// The slot file that is its bus; `None` for a host that reports to nobody.
    pub slots: Option<PathBuf>,
    pub disks: Vec<DiskFile>,
}

/// How its window is set.
#[derive(Clone, Copy, Debug)]
pub struct WindowFile {
    pub law: &'static str,
    pub threshold_s: f64,
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
    pub share: f64,
    pub array: PathBuf,
}

impl HostFile {
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        fs::write(path, self.to_string()).with_context(|| format!("writing {}", path.display()))
    }
}

impl fmt::Display for HostFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "name = {}", text(&self.name))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::share::ShareConfig;

    #[test]
    fn what_is_written_is_what_a_host_reads_whatever_the_paths() {
        let folder = Path::new("/a \"b\"\\c");
        let window = WindowFile { law: "parda", threshold_s: 0.025, period_s: 0.5, initial: 8.0, most: 64.0 };
        let disk = DiskFile {
            name: "data".into(),
            backing: folder.join("data.img"),
            size: Some("1M"),
            share: 2.5,
            array: folder.join("array.sim"),
        };
        let file = HostFile {
            name: "host0".into(),
            nbd: Some("127.0.0.1:0"),
            window,
            slots: Some(folder.join("slots")),
            disks: vec![disk.clone(), DiskFile { name: "more".into(), size: None, ..disk }],
        };
        let read = ShareConfig::parse(&file.to_string()).unwrap();
        assert_eq!((read.law.as_str(), read.initial_window, read.max_window), ("parda", 8.0, 64.0));
        assert_eq!((read.latency.as_secs_f64(), read.period.as_secs_f64()), (0.025, 0.5));
        assert_eq!(read.bus.address.as_deref(), Some("slot:/a \"b\"\\c/slots"));
        assert_eq!((read.disks.len(), read.disks[0].share, read.disks[1].name.as_str()), (2, 2.5, "more"));
        assert_eq!(read.disks[0].simulated.as_deref(), Some(folder.join("array.sim").as_path()));
    }
}
