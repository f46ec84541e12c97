//! The flags of a host that shares storage, which win over its file.

use super::{DiskConfig, ShareConfig};
use crate::config::fields::{can_be_read_again, set};
use crate::config::types::Size;
use crate::config::units;
use crate::failure::WithHint;
use anyhow::{Result, anyhow, bail};
use evenkeel_core::Nanos;
use std::path::PathBuf;

/// Flags of a host that serves disks, or mounts one.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Flags {
    /// File with all settings, also for several disks
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Name of this host among those that share the storage, and of the disk of --backing
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// File or block device behind the disk; for a file without [[disk]]
    #[arg(long, value_name = "PATH")]
    backing: Option<PathBuf>,
    /// Create a missing file with this size
    #[arg(long, value_name = "SIZE", requires = "backing", value_parser = units::bytes)]
    size: Option<u64>,
    /// Share of the disk, relative to all other disks on the same storage [default: 1]
    #[arg(long, value_name = "N", requires = "backing")]
    share: Option<f64>,
    /// Address for NBD clients: host:port or the path of a socket; may be given several times
    #[arg(long, value_name = "ADDRESS")]
    nbd: Vec<String>,
    /// How hosts reach each other: slot:FILE, nats://HOST:PORT or tls://HOST:PORT [default: this host is alone]
    #[arg(long, value_name = "BUS")]
    bus: Option<String>,
    /// Latency threshold [default: 15ms]
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    latency: Option<Nanos>,
    /// Address for /metrics, /healthz and `evenkeel share top`, as 127.0.0.1:9308 [default: none]
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<String>,
}

impl Flags {
    /// The file, if there is one, with the flags over it.
    pub fn read(&self) -> Result<ShareConfig> {
        let config = self.whole()?;
        if config.nbd.is_empty() && config.disks.iter().all(|disk| disk.fuse.is_none() && disk.nbd.is_empty())
        {
            return Err(anyhow!("no address for the disk is given"))
                .hint("give --nbd ADDRESS, or `nbd` or `fuse` in the file");
        }
        Ok(config)
    }

    /// As [`Flags::read`], while disks are served.
    pub fn read_again(&self) -> Result<ShareConfig> {
        self.config.as_deref().map_or(Ok(()), can_be_read_again)?;
        self.read()
    }

    /// As [`Flags::read`], of one disk that may appear nowhere else than where it is mounted.
    pub fn read_one(&self) -> Result<ShareConfig> {
        let config = self.whole()?;
        match config.disks.len() {
            1 => Ok(config),
            disks => bail!("one disk can be mounted, and the configuration has {disks}"),
        }
    }

    fn whole(&self) -> Result<ShareConfig> {
        let mut config = match &self.config {
            Some(path) => ShareConfig::load(path)?,
            None => ShareConfig::new("", Vec::new()),
        };
        self.over(&mut config)?;
        if config.disks.is_empty() {
            return Err(anyhow!("no storage behind the disk is given"))
                .hint("give --backing PATH, or a [[disk]] in the file of --config");
        }
        if config.name.is_empty() {
            return Err(anyhow!("the host has no name")).hint("give --name NAME, or `name` in the file");
        }
        config.check()?;
        Ok(config)
    }

    fn over(&self, config: &mut ShareConfig) -> Result<()> {
        set(&mut config.name, self.name.clone());
        set(&mut config.window.latency, self.latency);
        config.bus.address = self.bus.clone().or(config.bus.address.take());
        config.metrics = self.metrics.clone().or(config.metrics.take());
        if !self.nbd.is_empty() {
            config.nbd = self.nbd.iter().map(|text| Ok(text.parse()?)).collect::<Result<_>>()?;
        }
        if let Some(backing) = &self.backing {
            if !config.disks.is_empty() {
                bail!("--config names its disks; --backing is for a file without [[disk]]");
            }
            let mut disk = DiskConfig::new(&config.name, backing);
            disk.size = self.size.map(Size);
            set(&mut disk.share, self.share);
            config.disks.push(disk);
        }
        Ok(())
    }
}
