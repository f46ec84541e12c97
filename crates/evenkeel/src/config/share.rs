//! The configuration of a host that shares storage: `examples/share.toml` shows every key.

mod sockets;

use super::costs::{CostTables, table};
use super::fields::{Fields, load, set};
use super::old_keys;
use crate::view::log::Form;
use anyhow::{Result, bail};
use evenkeel_bus::slot::SLOTS_MAX;
use evenkeel_core::Nanos;
use evenkeel_core::share::Law;
use evenkeel_core::share::law::{Parameters, Settings};
use evenkeel_guard::proxy::Address;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

pub use sockets::{SocketConfig, TlsConfig, mode_of};

/// Names of the laws that set a window; the last is ours and the default.
pub const LAWS: [&str; 3] = ["fixed", "parda", "evenkeel"];
/// Most disks of a host.
pub const DISKS_MAX: usize = 64;

/// Everything that a file or flags may set.
#[derive(Clone, Debug, PartialEq)]
pub struct ShareConfig {
    /// The host's name among those that share the storage.
    pub name: String,
    /// The disks of the host.
    pub disks: Vec<DiskConfig>,
    /// Where NBD clients arrive.
    pub nbd: Vec<Address>,
    /// Mode and group of the files of these sockets.
    pub socket: SocketConfig,
    /// TLS for clients that come over TCP.
    pub tls: TlsConfig,
    /// Name of the law that sets the window.
    pub law: String,
    /// Latency above which the law closes the window.
    pub latency: Nanos,
    /// Time from one window to the next.
    pub period: Nanos,
    /// The window before the law has set one; the fixed law keeps it.
    pub initial_window: f64,
    /// No window passes this.
    pub max_window: f64,
    /// What I/Os cost.
    pub costs: CostTables,
    /// The bus by which hosts reach each other.
    pub bus: BusConfig,
    /// Where metrics are served.
    pub metrics: Option<String>,
    /// Bytes of buffers that requests of NBD clients may hold.
    pub memory: u64,
    /// File of the socket at which a successor asks for disks and clients.
    pub handover: Option<PathBuf>,
    /// Form of the log.
    pub log: Form,
}

/// The bus by which hosts reach each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusConfig {
    /// `slot:FILE`, or servers of NATS; without it this host is alone.
    pub address: Option<String>,
    /// Name of the storage on a NATS.
    pub array: String,
    /// Number of slots of a slot file that is made.
    pub slots: usize,
    /// File with the login for NATS.
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

/// A virtual disk.
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
    /// Whether nothing may change it.
    pub read_only: bool,
    /// Whether I/Os go past the page cache.
    pub direct: bool,
    /// Where NBD clients arrive who see this disk alone.
    pub nbd: Vec<Address>,
    /// Mode and group of the files of these sockets.
    pub socket: SocketConfig,
    /// Where its FUSE file is.
    pub fuse: Option<PathBuf>,
    /// File of the simulated array that it is on.
    pub simulated: Option<PathBuf>,
    /// Whether writes are lost at a kill unless they were flushed.
    pub volatile: bool,
    /// Whether flushes are ignored as well; only a flag sets this.
    pub ignore_flush: bool,
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
            volatile: false,
            ignore_flush: false,
        }
    }

    fn parse(number: usize, value: Value) -> Result<Self> {
        let mut fields = Fields::of(format!("disk {number}"), value)?;
        let name: String = fields.required("name")?;
        fields.rename(format!("disk `{name}`"));
        let backing: String = fields.required("backing")?;
        let mut disk = Self::new(name, backing);
        set(&mut disk.share, fields.optional("share")?);
        disk.size = fields.bytes("size")?;
        set(&mut disk.read_only, fields.optional("read_only")?);
        set(&mut disk.direct, fields.optional("direct")?);
        disk.nbd = sockets::addresses(&mut fields)?;
        disk.socket = SocketConfig::parse(&mut fields)?;
        disk.fuse = fields.optional::<String>("fuse")?.map(PathBuf::from);
        disk.simulated = fields.optional::<String>("simulated")?.map(PathBuf::from);
        set(&mut disk.volatile, fields.optional("volatile")?);
        fields.finish()?;
        Ok(disk)
    }

    fn check(&self) -> Result<()> {
        let Self { name, share, .. } = self;
        if name.is_empty() || name.len() > 255 || name.contains(['/', '\0']) || name == "." || name == ".." {
            bail!("disk {name:?}: a name has 1 to 255 bytes and no slash");
        }
        if !(1e-3..=1e6).contains(share) {
            bail!("disk `{name}`: `share` must be between 0.001 and 1000000, and is {share}");
        }
        Ok(())
    }
}

impl ShareConfig {
    /// The defaults for these disks.
    pub fn new(name: impl Into<String>, disks: Vec<DiskConfig>) -> Self {
        Self {
            name: name.into(),
            disks,
            nbd: Vec::new(),
            socket: SocketConfig::default(),
            tls: TlsConfig::default(),
            law: LAWS[LAWS.len() - 1].to_owned(),
            latency: Nanos::from_millis(15),
            period: Nanos::from_secs(2),
            initial_window: 16.0,
            max_window: 256.0,
            costs: CostTables::default(),
            bus: BusConfig::default(),
            metrics: None,
            memory: 64 << 20,
            handover: None,
            log: Form::Text,
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Names the file, the key and what to do.
    pub fn load(path: &Path) -> Result<Self> {
        load(path, Self::parse)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// As [`ShareConfig::load`].
    pub fn parse(text: &str) -> Result<Self> {
        let table: Table = text.parse()?;
        let mut fields = Fields::new("share", table);
        let name = fields.required::<String>("name")?;
        let disks = fields.optional::<Vec<Value>>("disk")?.unwrap_or_default();
        let numbered = disks.into_iter().enumerate();
        let disks =
            numbered.map(|(number, value)| DiskConfig::parse(number + 1, value)).collect::<Result<_>>()?;
        let mut config = Self::new(name, disks);
        config.nbd = sockets::addresses(&mut fields)?;
        config.socket = SocketConfig::parse(&mut fields)?;
        config.tls = TlsConfig::parse(fields.section("tls")?)?;
        config.metrics = fields.optional("metrics")?;
        set(&mut config.memory, fields.bytes("memory")?);
        config.handover = fields.optional::<String>("handover")?.map(PathBuf::from);
        match fields.optional::<String>("log")?.as_deref() {
            None | Some("text") => {}
            Some("json") => config.log = Form::Json,
            Some(other) => bail!("share: `log` is {other:?}, and must be \"text\" or \"json\""),
        }
        config.window(fields.section("window")?)?;
        config.costs(fields.section("costs")?)?;
        config.bus(fields.section("bus")?)?;
        fields.finish()?;
        config.check()?;
        Ok(config)
    }

    fn window(&mut self, mut fields: Fields) -> Result<()> {
        fields.take_old(&old_keys::WINDOW)?;
        set(&mut self.law, fields.optional("law")?);
        set(&mut self.latency, fields.time("latency")?);
        set(&mut self.period, fields.time("period")?);
        set(&mut self.initial_window, fields.optional("initial_window")?);
        set(&mut self.max_window, fields.optional("max_window")?);
        fields.finish()
    }

    fn costs(&mut self, mut fields: Fields) -> Result<()> {
        let read = |text: Option<String>| text.as_deref().map(table).transpose();
        set(&mut self.costs.reads, read(fields.optional("read")?)?);
        set(&mut self.costs.writes, read(fields.optional("write")?)?);
        fields.finish()
    }

    fn bus(&mut self, mut fields: Fields) -> Result<()> {
        let bus = &mut self.bus;
        bus.address = fields.optional("address")?;
        set(&mut bus.array, fields.optional("array")?);
        set(&mut bus.slots, fields.optional::<u64>("slots")?.map(|slots| slots as usize));
        bus.login = fields.optional::<String>("login")?.map(PathBuf::from);
        bus.authorities = fields.optional::<String>("authorities")?.map(PathBuf::from);
        set(&mut bus.require, fields.optional("require")?);
        fields.finish()
    }

    /// Checks what no single key shows.
    ///
    /// # Errors
    /// Names the keys that contradict each other, or a number that makes no sense.
    pub fn check(&self) -> Result<()> {
        if self.disks.is_empty() || self.disks.len() > DISKS_MAX {
            bail!("a host has 1 to {DISKS_MAX} disks, and here are {}", self.disks.len());
        }
        self.disks.iter().try_for_each(DiskConfig::check)?;
        let mut names = BTreeSet::new();
        if let Some(twice) = self.disks.iter().find(|disk| !names.insert(&disk.name)) {
            bail!("two disks are called `{}`", twice.name);
        }
        self.tls.check()?;
        if !(1..=SLOTS_MAX).contains(&self.bus.slots) {
            bail!("`slots` must be between 1 and {SLOTS_MAX}, and is {}", self.bus.slots);
        }
        if self.name.is_empty() || self.name.len() > 64 {
            bail!("the host's name {:?} must have 1 to 64 bytes", self.name);
        }
        if !(Nanos::from_micros(10)..=Nanos::from_secs(10)).contains(&self.latency) {
            bail!("`latency` must be between 10us and 10s, and is {} ms", self.latency.as_millis_f64());
        }
        if !(Nanos::from_millis(50)..=Nanos::from_secs(60)).contains(&self.period) {
            bail!("`period` must be between 50ms and 60s, and is {} ms", self.period.as_millis_f64());
        }
        let (initial, most) = (self.initial_window, self.max_window);
        if !(initial > 0.0 && initial <= most && most <= 65_536.0) {
            bail!(
                "`initial_window` is above 0 and at most `max_window`, that at most 65536; here are {initial} and {most}"
            );
        }
        self.costs.costs()?;
        self.law().map(|_| ())
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
            other => bail!("`law` is {other:?}, and must be \"fixed\", \"parda\" or \"evenkeel\""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: &str = "name = 'web1'\n[[disk]]\nname = 'data'\nbacking = '/dev/sdb'\n";

    #[test]
    fn a_name_and_a_disk_are_enough() {
        let config = ShareConfig::parse(SHORT).unwrap();
        assert_eq!(config, ShareConfig::new("web1", vec![DiskConfig::new("data", "/dev/sdb")]));
        assert_eq!(config.law().unwrap(), Law::Evenkeel(Settings::new(0.015)));
    }

    #[test]
    fn keys_are_taken_under_their_old_names() {
        let read = |window: &str| ShareConfig::parse(&format!("{SHORT}[window]\n{window}")).unwrap();
        let old = read("controller = 'parda'\ninitial = 8\nmost = 32");
        assert_eq!((old.law.as_str(), old.initial_window, old.max_window), ("parda", 8.0, 32.0));
        assert_eq!(old, read("law = 'parda'\ninitial_window = 8\nmax_window = 32"));
    }

    #[test]
    fn the_example_shows_every_key() {
        let text = include_str!("../../../../examples/share.toml");
        assert_eq!(ShareConfig::parse(text).unwrap().disks.len(), 2);
        // The keys that are commented out, because they are no defaults, can be read as well.
        let all: String =
            text.lines().map(|line| format!("{}\n", line.strip_prefix("#: ").unwrap_or(line))).collect();
        let full = ShareConfig::parse(&all).unwrap();
        let disk = &full.disks[0];
        assert!(
            disk.size.is_some()
                && disk.nbd.len() == 1
                && disk.socket.mode == Some(0o660)
                && disk.fuse.is_some()
                && disk.simulated.is_some()
                && full.metrics.is_some()
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, expected) in [
            (SHORT.replace("name = 'web1'\n", ""), "`name` is missing"),
            ("name = 'web1'".to_owned(), "1 to 64 disks, and here are 0"),
            (SHORT.replace("backing", "baking"), "is `baking` meant to be it?"),
            (format!("{SHORT}share = 0"), "`share` must be between"),
            (format!("{SHORT}share = 'much'"), "`share` must be a number"),
            (format!("{SHORT}size = 'big'"), "`size`"),
            (format!("{SHORT}[[disk]]\nname = 'data'\nbacking = 'x'"), "two disks are called `data`"),
            (SHORT.replace("'data'", "'a/b'"), "no slash"),
            (format!("{SHORT}[window]\nlatency = '1h'"), "`latency` must be between"),
            (format!("{SHORT}[window]\nperiod = '1ms'"), "`period` must be between"),
            (format!("{SHORT}[window]\ninitial_window = 300"), "300 and 256"),
            (format!("{SHORT}[window]\nlaw = 'pard'"), "`law` is \"pard\""),
            (format!("{SHORT}[window]\nmost = 9\nmax_window = 9"), "`most` is the old name of `max_window`"),
            (format!("{SHORT}[costs]\nread = '16k'"), "no list of sizes and costs"),
            (format!("{SHORT}[costs]\nread = '16k=3'"), "the unit of costs is a read of 16k"),
            (format!("{SHORT}[costs]\nwrite = '16k=0'"), "a cost lies between"),
            (format!("{SHORT}[bus]\nadress = 'x'"), "did you mean `address`?"),
            (format!("{SHORT}socket_mode = 'rw'"), "in octal digits"),
            (format!("{SHORT}[tls]\ncertificate = 'x'"), "a certificate and its key"),
        ] {
            let error = ShareConfig::parse(&text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
