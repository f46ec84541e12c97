//! The configuration of a host that shares storage.

mod flags;
mod sockets;

use super::costs::CostTables;
use super::fields::{load, parse};
use super::types::{At, Size};
use crate::view::log::Form;
use anyhow::{Context, Result, bail, ensure};
use evenkeel_bus::slot::SLOTS_MAX;
use evenkeel_core::Nanos;
use evenkeel_core::share::Law;
use evenkeel_core::share::law::{Parameters, Settings};
use evenkeel_guard::proxy::Address;
use evenkeel_share::{Access, group_id};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use flags::Flags;
pub use sockets::{Mode, TlsConfig};

/// A file with every key, its default and what it does.
pub const EXAMPLE: &str = include_str!("../../../../examples/share.toml");
/// Most disks of a host.
pub const DISKS_MAX: usize = 64;

keys! {
    /// Everything that a file or flags may set.
    ShareConfig in "" {
        name: String = String::new(),
        disks as "disk": Vec<DiskConfig> = Vec::new(),
        nbd: Vec<Address> = Vec::new(),
        socket_mode: Option<Mode> = None,
        socket_group: Option<String> = None,
        tls: TlsConfig = TlsConfig::default(),
        window: WindowConfig = WindowConfig::default(),
        costs: CostTables = CostTables::default(),
        bus: BusConfig = BusConfig::default(),
        metrics: Option<String> = None,
        /// Of buffers that requests of NBD clients may hold.
        memory: Size = Size(64 << 20),
        log: Form = Form::Text,
    }

    WindowConfig in "" {
        law: String = "evenkeel".to_owned(),
        /// Latency above which the law closes the window.
        latency: Nanos = Nanos::from_millis(15),
        period: Nanos = Nanos::from_secs(2),
        /// The window before the law has set one; the fixed law keeps it.
        initial_window: f64 = 16.0,
        /// No window passes this.
        max_window: f64 = 256.0,
    }

    BusConfig in "" {
        /// `slot:FILE`, or servers of NATS; without it this host is alone.
        address: Option<String> = None,
        array: String = "array".to_owned(),
        slots: usize = 64,
        login: Option<PathBuf> = None,
        /// Authorities that must have signed the certificate of NATS (PEM).
        authorities: Option<PathBuf> = None,
        /// Whether the host ends at once where NATS cannot be reached at the start, instead of waiting for it.
        require: bool = false,
    }

    DiskConfig in "" {
        /// Its name: export of NBD, file of FUSE.
        name: String,
        /// File or block device behind it.
        backing: PathBuf,
        /// Its shares, above zero.
        share: f64 = 1.0,
        /// A file that is missing is made of this size.
        size: Option<Size> = None,
        read_only: bool = false,
        /// Whether I/Os go past the page cache.
        direct: bool = false,
        /// Where NBD clients arrive who see this disk alone.
        nbd: Vec<Address> = Vec::new(),
        socket_mode: Option<Mode> = None,
        socket_group: Option<String> = None,
        /// Where its FUSE file is.
        fuse: Option<PathBuf> = None,
        /// File of the simulated array that it is on.
        simulated: Option<PathBuf> = None,
    }
}

impl DiskConfig {
    /// The defaults in front of a file or block device.
    pub fn new(name: impl Into<String>, backing: impl Into<PathBuf>) -> Self {
        Self { name: name.into(), backing: backing.into(), ..Self::default() }
    }

    fn check(&self) -> Result<()> {
        let name = &self.name;
        if name.is_empty() || name.len() > 255 || name.contains(['/', '\0']) || name == "." || name == ".." {
            bail!("disk {name:?}: a name has 1 to 255 bytes and no slash");
        }
        At { entry: &format!("disk `{name}`"), key: "share" }.within(&self.share, 1e-3..=1e6)
    }
}

impl WindowConfig {
    fn check(&self) -> Result<()> {
        let at = |key| At { entry: "window", key };
        at("latency").within(&self.latency.into(), Duration::from_micros(10)..=Duration::from_secs(10))?;
        at("period").within(&self.period.into(), Duration::from_millis(50)..=Duration::from_secs(60))?;
        let (initial, most) = (self.initial_window, self.max_window);
        at("max_window").ensure(most <= 65_536.0, &format!("must be at most 65536, and is {most}"))?;
        let words = format!("must be above 0 and at most `max_window`; they are {initial} and {most}");
        at("initial_window").ensure(initial > 0.0 && initial <= most, &words)
    }

    /// The law that was chosen.
    pub fn law(&self) -> Result<Law> {
        let (threshold_s, initial, most) = (self.latency.as_secs_f64(), self.initial_window, self.max_window);
        match self.law.as_str() {
            "fixed" => Ok(Law::Fixed(initial)),
            "parda" => {
                let range = (1.0_f64.min(most), most);
                Ok(Law::Parda(Parameters { range, initial, ..Parameters::published(threshold_s) }))
            }
            "evenkeel" => Ok(Law::Evenkeel(Settings { threshold_s, most, initial })),
            other => {
                let words = format!("is {other:?}, and must be \"fixed\", \"parda\" or \"evenkeel\"");
                Err(At { entry: "window", key: "law" }.wrong(&words))
            }
        }
    }
}

impl BusConfig {
    fn check(&self) -> Result<()> {
        let at = |key| At { entry: "bus", key };
        at("slots").within(&self.slots, 1..=SLOTS_MAX)?;
        let Some(address) = &self.address else { return Ok(()) };
        let is_known = ["slot:", "nats://", "tls://"].iter().any(|kind| address.starts_with(kind));
        let words = format!("{address:?} must be slot:FILE, nats://HOST:PORT or tls://HOST:PORT");
        at("address").ensure(is_known, &words)
    }
}

impl ShareConfig {
    pub fn new(name: impl Into<String>, disks: Vec<DiskConfig>) -> Self {
        Self { name: name.into(), disks, ..Self::default() }
    }

    /// Reads a file.
    /// Errors: names the file, the key and what to do.
    pub fn load(path: &Path) -> Result<Self> {
        load(path, "share disk", Self::parse)
    }

    /// Reads the text of a file. Name and disks may be those of the command line.
    pub fn parse(text: &str) -> Result<Self> {
        let config: Self = parse("share", text)?;
        config.check().map(|()| config)
    }

    /// Ranges, and what no single key shows.
    fn check(&self) -> Result<()> {
        ensure!(self.disks.len() <= DISKS_MAX, "a host has 1 to {DISKS_MAX} disks, not {}", self.disks.len());
        self.disks.iter().try_for_each(DiskConfig::check)?;
        let mut names = BTreeSet::new();
        if let Some(twice) = self.disks.iter().find(|disk| !names.insert(&disk.name)) {
            bail!("two disks are called `{}`", twice.name);
        }
        let words = format!("of the host {:?} has more than 64 bytes", self.name);
        At { entry: "share", key: "name" }.ensure(self.name.len() <= 64, &words)?;
        self.bus.check()?;
        self.tls.check()?;
        self.window.check()?;
        self.costs.costs()?;
        self.window.law().map(drop)
    }
}

impl ShareConfig {
    /// Mode and group of the sockets of a disk or, without one, of the host; by default as the umask has it. What a disk does not
    /// say is as its host says.
    pub fn access(&self, disk: Option<&DiskConfig>) -> Result<Access> {
        let mode = disk.and_then(|disk| disk.socket_mode).or(self.socket_mode);
        let group = disk.and_then(|disk| disk.socket_group.as_ref()).or(self.socket_group.as_ref());
        let number =
            |name: &String| group_id(name).with_context(|| format!("the group of a socket, {name:?}"));
        Ok(Access { mode: mode.map(|mode| mode.0), group: group.map(number).transpose()? })
    }
}

#[cfg(test)]
mod tests;
