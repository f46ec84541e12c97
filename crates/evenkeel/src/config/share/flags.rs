//! Settings of a host that shares storage: flags of the command line, and keys of a file. A flag wins.

use super::sockets::mode_of;
use super::{DiskConfig, DiskTable, LAWS, ShareConfig, Tables};
use crate::config::costs::{Table, table};
use crate::config::fields::{Fields, can_be_read_again, set, text};
use crate::config::settings::settings;
use crate::config::units;
use crate::failure::WithHint;
use crate::view::log::Form;
use anyhow::{Result, anyhow, bail};
use evenkeel_core::Nanos;
use std::path::PathBuf;

settings! {
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
SIGHUP reads the configuration again. SIGTERM or Ctrl-C finishes running requests, flushes and
stops with exit code 0; a second one stops at once, with 143 (130).")]
    pub struct Flags over ShareConfig {
        /// Configuration file, for several disks; SIGHUP reads it again
        #[arg(long, value_name = "FILE")]
        pub config: Option<PathBuf>,
        /// Name of this host among those that share the storage, and of its disk
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// File or block device behind the disk
        #[arg(long, value_name = "PATH")]
        backing: Option<PathBuf>,
        /// The one disk
        #[command(flatten)]
        disk: DiskFlags,
        /// Address for NBD clients: host:port or the path of a socket; may be given several times
        #[arg(long, value_name = "ADDRESS")]
        nbd: Vec<String>,
        /// Mode of these sockets in octal digits, as 0660 [default: by the umask]
        #[arg(long, value_name = "MODE", value_parser = mode_of)]
        socket_mode: Option<u32> = share.socket_mode by text(mode_of) => socket.mode,
        /// Group of these sockets, as libvirt-qemu: its members may connect
        #[arg(long, value_name = "GROUP")]
        socket_group: Option<String> = share.socket_group => socket.group,
        /// Certificate for clients over TCP (PEM): these must then use TLS
        #[arg(long, value_name = "FILE", requires = "tls_key")]
        tls_cert: Option<PathBuf> = tls.certificate => tls.certificate,
        /// Key of that certificate (PEM)
        #[arg(long, value_name = "FILE", requires = "tls_cert")]
        tls_key: Option<PathBuf> = tls.key => tls.key,
        /// Authorities that must have signed the certificates of clients over TCP (PEM)
        #[arg(long, value_name = "FILE", requires = "tls_cert")]
        tls_client_ca: Option<PathBuf> = tls.clients => tls.clients,
        /// Law that sets the window [default: evenkeel]
        #[arg(long, value_name = "NAME", value_parser = LAWS)]
        law: Option<String> = window.law => law,
        /// Latency threshold [default: 15ms]
        #[arg(long, value_name = "TIME", value_parser = units::duration)]
        latency: Option<Nanos> = window.latency by Fields::time => latency,
        /// Time from one window to the next [default: 2s]
        #[arg(long, value_name = "TIME", value_parser = units::duration)]
        period: Option<Nanos> = window.period by Fields::time => period,
        /// Initial window, in outstanding I/Os; with the fixed law the window [default: 16]
        #[arg(long, value_name = "N")]
        initial_window: Option<f64> = window.initial_window => initial_window,
        /// Maximum window [default: 256]
        #[arg(long, value_name = "N")]
        max_window: Option<f64> = window.max_window => max_window,
        /// Costs of reads by size, in units of a read of 16k, as `share knee --costs` finds them [default: 16k=1,256k=1.4]
        #[arg(long, value_name = "SIZE=COST,...", value_parser = cost_flag)]
        cost_read: Option<Table> = costs.read by text(table) => costs.reads,
        /// Costs of writes by size, in the same units; one size is enough [default: those of reads]
        #[arg(long, value_name = "SIZE=COST,...", value_parser = cost_flag)]
        cost_write: Option<Table> = costs.write by text(table) => costs.writes,
        /// How hosts reach each other: slot:FILE, nats://HOST:PORT or tls://HOST:PORT [default: this host is alone]
        #[arg(long, value_name = "BUS")]
        bus: Option<String> = bus.address => bus.address,
        /// Name of the storage on NATS [default: array]
        #[arg(long, value_name = "NAME")]
        array: Option<String> = bus.array => bus.array,
        /// File with the login for NATS: credentials, a key's seed, user:password, or a token
        #[arg(long, value_name = "FILE")]
        bus_login: Option<PathBuf> = bus.login => bus.login,
        /// Authorities that must have signed the certificate of NATS (PEM)
        #[arg(long, value_name = "FILE")]
        bus_ca: Option<PathBuf> = bus.authorities => bus.authorities,
        /// End at once if NATS cannot be reached at the start, instead of waiting for it
        #[arg(long)]
        require_bus: bool = bus.require => bus.require,
        /// Address for /metrics, /healthz and `evenkeel share top`, as 127.0.0.1:9308 [default: none]
        #[arg(long, value_name = "ADDRESS")]
        metrics: Option<String> = share.metrics => metrics,
        /// Memory for requests of NBD clients; one request may exceed it [default: 64M]
        #[arg(long, value_name = "SIZE", value_parser = units::bytes)]
        memory: Option<u64> = share.memory by Fields::bytes => memory,
        /// Form of the log on stderr [default: text]
        #[arg(long, value_enum, value_name = "FORM")]
        log: Option<Form> = share.log by Fields::word_of_flag => log,
        /// Check the configuration and end
        #[arg(long)]
        pub check: bool,
    }
    keys of Tables {
        bus.slots => bus.slots: usize,
    }
}

settings! {
    /// Flags of a host with one disk.
    #[derive(Clone, Debug, Default, clap::Args)]
    pub struct DiskFlags over DiskConfig {
        /// Create a missing file with this size
        #[arg(long, value_name = "SIZE", requires = "backing", value_parser = units::bytes)]
        size: Option<u64> = disk.size by Fields::bytes => size,
        /// Share of the disk, relative to all other disks on the same storage [default: 1]
        #[arg(long, value_name = "N", requires = "backing")]
        share: Option<f64> = disk.share => share,
        /// Refuse all writes to the disk
        #[arg(long, requires = "backing")]
        read_only: bool = disk.read_only => read_only,
        /// Bypass the page cache
        #[arg(long, requires = "backing")]
        direct: bool = disk.direct => direct,
        /// Take as long as the simulated array of this file (`evenkeel share array`)
        #[arg(long, value_name = "FILE", requires = "backing")]
        simulated: Option<PathBuf> = disk.simulated => simulated,
        /// Folder in which the disk is to appear as a file
        #[arg(long, value_name = "DIR", requires = "backing")]
        fuse: Option<PathBuf> = disk.fuse => fuse,
    }
    keys of DiskTable {
        disk.socket_mode by text(mode_of) => socket.mode: u32,
        disk.socket_group => socket.group: String,
    }
}

impl Flags {
    /// The file, if there is one, with the flags over it.
    pub fn read(&self) -> Result<ShareConfig> {
        let config = self.whole()?;
        if config.nbd.is_empty() && config.disks.iter().all(|disk| disk.fuse.is_none() && disk.nbd.is_empty())
        {
            return Err(anyhow!("no address for the disk is given")).hint("give --nbd ADDRESS or --fuse DIR");
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
        let mut config = self.base()?;
        self.over(&mut config);
        self.over_more(&mut config)?;
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
                let mut disk = DiskConfig::new(name, backing);
                self.disk.over(&mut disk);
                Ok(ShareConfig::new(name, vec![disk]))
            }
            (None, Some(_), None) => Err(anyhow!("the host has no name")).hint("give --name NAME"),
            (None, None, _) => Err(anyhow!("no storage behind the disk is given"))
                .hint("give --backing PATH or --config FILE"),
        }
    }

    /// What is more than one value in place of another: the name, and a list.
    fn over_more(&self, config: &mut ShareConfig) -> Result<()> {
        set(&mut config.name, self.name.clone());
        if !self.nbd.is_empty() {
            config.nbd = self.nbd.iter().map(|text| Ok(text.parse()?)).collect::<Result<_>>()?;
        }
        Ok(())
    }
}

/// Reads a table of costs; clap shows one line of an error.
fn cost_flag(text: &str) -> Result<Table, String> {
    table(text).map_err(|error| format!("{error:#}"))
}
