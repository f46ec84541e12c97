//! The configuration of a host that shares storage.

mod flags;
mod sockets;

use super::costs::{CostTables, table};
use super::fields::{Fields, load, set};
use super::lines::at_key;
use super::masked;
use crate::view::log::Form;
use anyhow::{Result, bail};
use evenkeel_bus::slot::SLOTS_MAX;
use evenkeel_core::Nanos;
use evenkeel_core::share::Law;
use evenkeel_core::share::law::{Parameters, Settings};
use evenkeel_guard::proxy::Address;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use toml::Value;

pub use flags::Flags;
pub use sockets::{SocketConfig, TlsConfig};

/// A file with every key, its default and what it does.
pub const EXAMPLE: &str = include_str!("../../../../examples/share.toml");
/// Most disks of a host.
pub const DISKS_MAX: usize = 64;

/// Everything that a file or flags may set.
#[derive(Clone, Debug, PartialEq)]
pub struct ShareConfig {
    pub name: String,
    pub disks: Vec<DiskConfig>,
    pub nbd: Vec<Address>,
    pub socket: SocketConfig,
    pub tls: TlsConfig,
    pub law: String,
    /// Latency above which the law closes the window.
    pub latency: Nanos,
    pub period: Nanos,
    /// The window before the law has set one; the fixed law keeps it.
    pub initial_window: f64,
    /// No window passes this.
    pub max_window: f64,
    pub costs: CostTables,
    pub bus: BusConfig,
    pub metrics: Option<String>,
    /// Bytes of buffers that requests of NBD clients may hold.
    pub memory: u64,
    pub log: Form,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusConfig {
    /// `slot:FILE`, or servers of NATS; without it this host is alone.
    pub address: Option<String>,
    pub array: String,
    pub slots: usize,
    pub login: Option<PathBuf>,
    /// Authorities that must have signed the certificate of NATS (PEM).
    pub authorities: Option<PathBuf>,
    /// Whether the host ends at once where NATS cannot be reached at the start, instead of waiting for it.
    pub require: bool,
}

impl Default for BusConfig {
    fn default() -> Self {
        let array = "array".to_owned();
        Self { address: None, array, slots: 64, login: None, authorities: None, require: false }
    }
}

impl BusConfig {
    fn take(&mut self, mut bus: Fields) -> Result<()> {
        self.address = bus.optional("address")?;
        set(&mut self.array, bus.optional("array")?);
        set(&mut self.slots, bus.optional("slots")?);
        self.login = bus.optional("login")?;
        self.authorities = bus.optional("authorities")?;
        set(&mut self.require, bus.optional("require")?);
        bus.finish()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct DiskConfig {
    /// Its name: export of NBD, file of FUSE.
    pub name: String,
    /// File or block device behind it.
    pub backing: PathBuf,
    /// Its shares, above zero.
    pub share: f64,
    /// A file that is missing is made of this size.
    pub size: Option<u64>,
    pub read_only: bool,
    /// Whether I/Os go past the page cache.
    pub direct: bool,
    /// Where NBD clients arrive who see this disk alone.
    pub nbd: Vec<Address>,
    pub socket: SocketConfig,
    /// Where its FUSE file is.
    pub fuse: Option<PathBuf>,
    /// File of the simulated array that it is on.
    pub simulated: Option<PathBuf>,
}

impl DiskConfig {
    /// The defaults in front of a file or block device.
    pub fn new(name: impl Into<String>, backing: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            backing: backing.into(),
            share: 1.0,
            size: None,
            read_only: false,
            direct: false,
            nbd: Vec::new(),
            socket: SocketConfig::default(),
            fuse: None,
            simulated: None,
        }
    }

    fn parse(number: usize, value: Value) -> Result<Self> {
        let mut fields = Fields::of(format!("disk {number}"), value)?;
        let name: String = fields.required("name")?;
        fields.rename(format!("disk `{name}`"));
        let mut disk = Self::new(name, fields.required::<PathBuf>("backing")?);
        set(&mut disk.share, fields.optional("share")?);
        disk.size = fields.bytes("size")?;
        set(&mut disk.read_only, fields.optional("read_only")?);
        set(&mut disk.direct, fields.optional("direct")?);
        disk.nbd = fields.addresses("nbd")?;
        disk.socket = SocketConfig::of(&mut fields)?;
        disk.fuse = fields.optional("fuse")?;
        disk.simulated = fields.optional("simulated")?;
        fields.finish()?;
        Ok(disk)
    }

    fn check(&self) -> Result<()> {
        let Self { name, share, .. } = self;
        if name.is_empty() || name.len() > 255 || name.contains(['/', '\0']) || name == "." || name == ".." {
            bail!("disk {name:?}: a name has 1 to 255 bytes and no slash");
        }
        if !(1e-3..=1e6).contains(share) {
            let words = format!("`share` must be between 0.001 and 1000000, and is {share}");
            return Err(at_key(&format!("disk `{name}`"), "share", words));
        }
        Ok(())
    }
}

impl ShareConfig {
    pub fn new(name: impl Into<String>, disks: Vec<DiskConfig>) -> Self {
        Self {
            name: name.into(),
            disks,
            nbd: Vec::new(),
            socket: SocketConfig::default(),
            tls: TlsConfig::default(),
            law: "evenkeel".to_owned(),
            latency: Nanos::from_millis(15),
            period: Nanos::from_secs(2),
            initial_window: 16.0,
            max_window: 256.0,
            costs: CostTables::default(),
            bus: BusConfig::default(),
            metrics: None,
            memory: 64 << 20,
            log: Form::Text,
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Names the file, the key and what to do.
    pub fn load(path: &Path) -> Result<Self> {
        load(path, "share disk", Self::parse)
    }

    /// Reads the text of a file. Name and disks may be those of the command line.
    ///
    /// # Errors
    /// As [`ShareConfig::load`].
    pub fn parse(text: &str) -> Result<Self> {
        let mut file = Fields::new("share", text.parse().map_err(|error| masked::no_toml(&error))?);
        let name: String = file.optional("name")?.unwrap_or_default();
        let disks = file.optional::<Vec<Value>>("disk")?.unwrap_or_default();
        let numbered = disks.into_iter().enumerate();
        let disks =
            numbered.map(|(number, value)| DiskConfig::parse(number + 1, value)).collect::<Result<_>>()?;
        let mut config = Self::new(name, disks);
        config.nbd = file.addresses("nbd")?;
        config.socket = SocketConfig::of(&mut file)?;
        config.metrics = file.optional("metrics")?;
        set(&mut config.memory, file.bytes("memory")?);
        set(&mut config.log, file.one_of("log", &Form::NAMES)?);
        config.tls = TlsConfig::of(file.section("tls")?)?;
        config.take_window(file.section("window")?)?;
        config.take_costs(file.section("costs")?)?;
        config.bus.take(file.section("bus")?)?;
        file.finish()?;
        config.check()?;
        Ok(config)
    }

    fn take_window(&mut self, mut window: Fields) -> Result<()> {
        set(&mut self.law, window.optional("law")?);
        set(&mut self.latency, window.time("latency")?);
        set(&mut self.period, window.time("period")?);
        set(&mut self.initial_window, window.optional("initial_window")?);
        set(&mut self.max_window, window.optional("max_window")?);
        window.finish()
    }

    fn take_costs(&mut self, mut costs: Fields) -> Result<()> {
        set(&mut self.costs.reads, costs.text("read", table)?);
        set(&mut self.costs.writes, costs.text("write", table)?);
        costs.finish()
    }

    /// Ranges, and what no single key shows.
    fn check(&self) -> Result<()> {
        if self.disks.len() > DISKS_MAX {
            bail!("a host has 1 to {DISKS_MAX} disks, not {}", self.disks.len());
        }
        self.disks.iter().try_for_each(DiskConfig::check)?;
        let mut names = BTreeSet::new();
        if let Some(twice) = self.disks.iter().find(|disk| !names.insert(&disk.name)) {
            bail!("two disks are called `{}`", twice.name);
        }
        if !(1..=SLOTS_MAX).contains(&self.bus.slots) {
            let words = format!("`slots` must be between 1 and {SLOTS_MAX}, and is {}", self.bus.slots);
            return Err(at_key("bus", "slots", words));
        }
        if let Some(address) = &self.bus.address
            && !["slot:", "nats://", "tls://"].iter().any(|kind| address.starts_with(kind))
        {
            let words =
                format!("`address` {address:?} must be slot:FILE, nats://HOST:PORT or tls://HOST:PORT");
            return Err(at_key("bus", "address", words));
        }
        if self.name.len() > 64 {
            let words = format!("the host's `name` {:?} has more than 64 bytes", self.name);
            return Err(at_key("share", "name", words));
        }
        self.check_window()?;
        self.costs.costs()?;
        self.law().map(|_| ())
    }

    fn check_window(&self) -> Result<()> {
        let wrong = |key: &str, words: String| Err(at_key("window", key, words));
        let (latency, period) = (self.latency, self.period);
        if !(Nanos::from_micros(10)..=Nanos::from_secs(10)).contains(&latency) {
            let words =
                format!("`latency` must be between 10us and 10s, and is {} ms", latency.as_millis_f64());
            return wrong("latency", words);
        }
        if !(Nanos::from_millis(50)..=Nanos::from_secs(60)).contains(&period) {
            let words =
                format!("`period` must be between 50ms and 60s, and is {} ms", period.as_millis_f64());
            return wrong("period", words);
        }
        let (initial, most) = (self.initial_window, self.max_window);
        if initial > 0.0 && initial <= most && most <= 65_536.0 {
            return Ok(());
        }
        // Where the default of the other one is in the way, the file has this one alone.
        let key = if most > 65_536.0 { "max_window" } else { "initial_window" };
        let words = format!(
            "`initial_window` must be above 0 and at most `max_window`, which is at most 65536; they are \
             {initial} and {most}"
        );
        wrong(key, words)
    }

    /// The law that was chosen.
    ///
    /// # Errors
    /// There is no law of that name.
    pub fn law(&self) -> Result<Law> {
        let threshold_s = self.latency.as_secs_f64();
        match self.law.as_str() {
            "fixed" => Ok(Law::Fixed(self.initial_window)),
            "parda" => Ok(Law::Parda(Parameters {
                range: (1.0_f64.min(self.max_window), self.max_window),
                initial: self.initial_window,
                ..Parameters::published(threshold_s)
            })),
            "evenkeel" => Ok(Law::Evenkeel(Settings {
                threshold_s,
                most: self.max_window,
                initial: self.initial_window,
            })),
            other => {
                let words = format!("`law` is {other:?}, and must be \"fixed\", \"parda\" or \"evenkeel\"");
                Err(at_key("window", "law", words))
            }
        }
    }
}

#[cfg(test)]
mod tests;
