//! Flags of `evenkeel share disk`, over its configuration file.

use super::old_flags::OldFlags;
use super::{DiskConfig, LAWS, ShareConfig, mode_of};
use crate::config::costs::table;
use crate::config::fields::can_be_read_again;
use crate::config::units;
use crate::failure::WithHint;
use crate::view::log::Form;
use anyhow::{Context, Result, anyhow, bail};
use std::path::PathBuf;

/// Flags that a file has as well; a flag wins. Those of a disk are for a host with one.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel share disk --backing /dev/sdb --share 4 --name web1 --nbd /run/web1.sock --bus slot:/shared/slots
  evenkeel share disk --backing disk.img --size 10G --nbd 127.0.0.1:10809 --law fixed --initial-window 32
  evenkeel share disk --backing /dev/sdb --name web1 --nbd /run/web1.sock --bus slot:/shared/slots \\
    --cost-read 4k=0.93,16k=1,64k=1.4,256k=2.9 --cost-write 16k=3.8      as `share knee --costs` found them
  evenkeel share disk --config /etc/evenkeel/share.toml

The disk of a host has the host's name unless the configuration file says otherwise.
Signals: SIGHUP reads the configuration again, SIGTERM (or Ctrl-C) ends what is asked, flushes
and stops, by exit code 0, since that is its orderly end; a second one ends it at once, by 143
(130). With --handover PATH the same command, started beside the one that serves, takes its
place, and clients notice nothing.")]
pub struct Flags {
    /// Configuration file, for several disks; SIGHUP reads it again
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Name of this host among those that share the storage, and of its disk
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// File or block device behind the disk
    #[arg(long, value_name = "PATH")]
    backing: Option<PathBuf>,
    /// Makes a missing file of this size
    #[arg(long, value_name = "SIZE", requires = "backing")]
    size: Option<String>,
    /// Its share against all other disks on the same storage [default: 1]
    #[arg(long, value_name = "N", requires = "backing")]
    share: Option<f64>,
    /// Nothing may change the disk
    #[arg(long, requires = "backing")]
    read_only: bool,
    /// Past the page cache
    #[arg(long, requires = "backing")]
    direct: bool,
    /// Takes as long as the simulated array of this file would (`evenkeel share array`)
    #[arg(long, value_name = "FILE", requires = "backing")]
    simulated: Option<PathBuf>,
    /// Loses what was not flushed when it is killed: for tests
    #[arg(long, requires = "backing")]
    volatile: bool,
    /// Says "done" to flushes and does nothing: a disk that lies, to see a test fail
    #[arg(long, requires = "volatile", hide = true)]
    ignore_flush: bool,
    /// Folder in which the disk is to appear as a file
    #[arg(long, value_name = "DIR", requires = "backing")]
    fuse: Option<PathBuf>,
    /// Where NBD clients arrive: host:port or the path of a socket; can be given again
    #[arg(long, value_name = "ADDRESS")]
    nbd: Vec<String>,
    /// Mode of these sockets in octal digits, as 0660 [default: as the umask has it]
    #[arg(long, value_name = "MODE")]
    socket_mode: Option<String>,
    /// Group of these sockets, as libvirt-qemu: its members may connect
    #[arg(long, value_name = "GROUP")]
    socket_group: Option<String>,
    /// Certificate to show to who comes over TCP (PEM): TLS, and nobody without
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Key of that certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Authorities that must have signed the certificate of who comes over TCP (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_client_ca: Option<PathBuf>,
    /// The law by which the window is set [default: evenkeel]
    #[arg(long, value_name = "NAME", value_parser = LAWS)]
    law: Option<String>,
    /// Latency threshold [default: 15ms]
    #[arg(long, value_name = "TIME")]
    latency: Option<String>,
    /// From one window to the next [default: 2s]
    #[arg(long, value_name = "TIME")]
    period: Option<String>,
    /// The window to begin with, in I/Os outstanding; the fixed law's for good [default: 16]
    #[arg(long, value_name = "N")]
    initial_window: Option<f64>,
    /// No window passes this [default: 256]
    #[arg(long, value_name = "N")]
    max_window: Option<f64>,
    /// What was called otherwise before
    #[command(flatten)]
    old: OldFlags,
    /// What reads cost by size, in units of a read of 16k, as `share knee --costs` finds it [default: 16k=1,256k=1.4]
    #[arg(long, value_name = "SIZE=COST,...")]
    cost_read: Option<String>,
    /// What writes cost by size, in the same units; one size is enough [default: as much as reads]
    #[arg(long, value_name = "SIZE=COST,...")]
    cost_write: Option<String>,
    /// How hosts reach each other: slot:FILE, nats://HOST:PORT or tls://HOST:PORT [default: this host is alone]
    #[arg(long, value_name = "BUS")]
    bus: Option<String>,
    /// Name of the storage on a NATS [default: array]
    #[arg(long, value_name = "NAME")]
    array: Option<String>,
    /// File with what a NATS asks for: credentials, a key's seed, user:password, or a token
    #[arg(long, value_name = "FILE")]
    bus_login: Option<PathBuf>,
    /// Authorities that must have signed the certificate of a NATS (PEM)
    #[arg(long, value_name = "FILE")]
    bus_ca: Option<PathBuf>,
    /// End at once where NATS cannot be reached at the start, instead of waiting for it
    #[arg(long)]
    require_bus: bool,
    /// Where to serve /metrics, /healthz and what `evenkeel share top` reads, as 127.0.0.1:9308 [default: nowhere]
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<String>,
    /// What requests of NBD clients may hold, one of them at a time beyond that [default: 64M]
    #[arg(long, value_name = "SIZE")]
    memory: Option<String>,
    /// Where a successor asks: the same command, started once more, takes over disks and clients of the one that serves
    #[arg(long, value_name = "PATH")]
    handover: Option<PathBuf>,
    /// Form of the log on stderr [default: text]
    #[arg(long, value_enum, value_name = "FORM")]
    log: Option<Form>,
    /// Read the configuration, say whether it is right, and end
    #[arg(long)]
    pub check: bool,
}

impl Flags {
    /// The file, if there is one, with the flags over it.
    pub fn read(&self) -> Result<ShareConfig> {
        let config = self.whole()?;
        if config.nbd.is_empty() && config.disks.iter().all(|disk| disk.fuse.is_none() && disk.nbd.is_empty())
        {
            return Err(anyhow!("nobody said where the disk is to appear"))
                .hint("give --nbd ADDRESS or --fuse DIR");
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
            1 if config.handover.is_some() => {
                bail!("a mounted disk ends with the process that shows it: `handover` is for `share disk`")
            }
            1 => Ok(config),
            disks => bail!("one disk can be mounted, and the configuration has {disks}"),
        }
    }

    fn whole(&self) -> Result<ShareConfig> {
        let mut config = self.base()?;
        self.over(&mut config)?;
        config.check()?;
        Ok(config)
    }

    fn base(&self) -> Result<ShareConfig> {
        match (&self.config, &self.backing, &self.name) {
            (Some(_), Some(_), _) => {
                bail!("--config names its disks; --backing is for a host with one disk and no --config")
            }
            (Some(path), None, _) => ShareConfig::load(path),
            (None, Some(backing), Some(name)) => {
                Ok(ShareConfig::new(name, vec![self.disk(DiskConfig::new(name, backing))?]))
            }
            (None, Some(_), None) => Err(anyhow!("the host has no name")).hint("give --name NAME"),
            (None, None, _) => Err(anyhow!("nobody said what is behind the disk"))
                .hint("give --backing PATH or --config FILE"),
        }
    }

    fn disk(&self, mut disk: DiskConfig) -> Result<DiskConfig> {
        disk.share = self.share.unwrap_or(disk.share);
        disk.size = self.size.as_deref().map(units::bytes).transpose().context("--size")?;
        (disk.read_only, disk.direct, disk.volatile) = (self.read_only, self.direct, self.volatile);
        disk.ignore_flush = self.ignore_flush;
        (disk.fuse, disk.simulated) = (self.fuse.clone(), self.simulated.clone());
        Ok(disk)
    }

    fn over(&self, config: &mut ShareConfig) -> Result<()> {
        fn set<T: Clone>(target: &mut T, value: &Option<T>) {
            if let Some(value) = value {
                target.clone_from(value);
            }
        }
        let time = |target: &mut _, text: &Option<String>, flag: &'static str| -> Result<()> {
            if let Some(text) = text {
                *target = units::duration(text).context(flag)?;
            }
            Ok(())
        };
        set(&mut config.name, &self.name);
        set(&mut config.law, &self.old.law(&self.law));
        set(&mut config.initial_window, &self.old.initial_window(&self.initial_window));
        set(&mut config.max_window, &self.old.max_window(&self.max_window));
        set(&mut config.log, &self.log);
        set(&mut config.bus.array, &self.array);
        config.bus.require |= self.require_bus;
        config.bus.address = self.bus.clone().or(config.bus.address.take());
        config.bus.login = self.bus_login.clone().or(config.bus.login.take());
        config.bus.authorities = self.bus_ca.clone().or(config.bus.authorities.take());
        config.handover = self.handover.clone().or(config.handover.take());
        config.metrics = self.metrics.clone().or(config.metrics.take());
        config.socket.group = self.socket_group.clone().or(config.socket.group.take());
        if let Some(text) = &self.socket_mode {
            config.socket.mode = Some(mode_of(text).context("--socket-mode")?);
        }
        let tls = &mut config.tls;
        tls.certificate = self.tls_cert.clone().or(tls.certificate.take());
        tls.key = self.tls_key.clone().or(tls.key.take());
        tls.clients = self.tls_client_ca.clone().or(tls.clients.take());
        time(&mut config.latency, &self.latency, "--latency")?;
        time(&mut config.period, &self.period, "--period")?;
        if let Some(text) = &self.cost_read {
            config.costs.reads = table(text).context("--cost-read")?;
        }
        if let Some(text) = &self.cost_write {
            config.costs.writes = table(text).context("--cost-write")?;
        }
        if let Some(text) = &self.memory {
            config.memory = units::bytes(text).context("--memory")?;
        }
        if !self.nbd.is_empty() {
            config.nbd = self.nbd.iter().map(|text| Ok(text.parse()?)).collect::<Result<_>>()?;
        }
        Ok(())
    }
}
