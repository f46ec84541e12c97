//! A host that serves its disks: what runs, what of a new configuration it heeds, and its end.

use super::{backing, slots};
use crate::config::costs::CostTables;
use crate::config::fields::Keys;
use crate::config::share::{DiskConfig, ShareConfig, TlsConfig};
use crate::out;
use crate::share::serve;
use crate::view::http::Server;
use crate::view::log::{Form, line};
use anyhow::{Context, Result, anyhow};
use evenkeel_os::Latest;
use evenkeel_os::clock::{Clock, unix_time};
use evenkeel_share::control::{Loop, Order, Settings};
use evenkeel_share::event::{Event, Listener};
use evenkeel_share::{
    Address, Engine, FuseDisk, FuseError, FuseFront, Handle, ListenAddress, Listening, NbdPlan, Plan,
    ServerConfig, serve_file_systems, server_tls,
};
use serde_json::json;
use std::net::IpAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

/// A host that serves its disks; what clients see comes down first.
pub(super) struct Running {
    /// Bytes of each disk, and whether it may only be read.
    pub sizes: Vec<(u64, bool)>,
    /// Who does the I/O of each disk.
    executors: Vec<String>,
    fuse: Vec<FuseFront>,
    engine: Engine,
    orders: mpsc::Sender<Order>,
    looping: JoinHandle<()>,
    pub(super) listener: Arc<Listener>,
    names: Vec<String>,
    metrics: Option<Server>,
    /// The configuration that it was started with, and what of later ones holds.
    started: ShareConfig,
}

impl Running {
    pub(super) fn start(config: &ShareConfig) -> Result<Self> {
        // Where it may not, a machine without memory can stand still when it writes to its own disk.
        let _ = serve_file_systems();
        let names: Vec<String> = config.disks.iter().map(|disk| disk.name.clone()).collect();
        let (disks, made) = backing::open(config)?;
        let sizes: Vec<(u64, bool)> =
            disks.iter().map(|disk| (disk.backing.bytes(), disk.backing.is_read_only())).collect();
        let executors = disks.iter().map(|disk| disk.backing.executor()).collect();
        let (window, costs) = (config.window.initial_window, config.costs.costs()?);
        let memory = config.memory.0 as usize;
        // To join the others takes up to two periods. Clients find a socket before, and wait a moment for its greeting.
        let nbd = NbdPlan { listen: listen_addresses(config)?, tls: tls(config)? };
        let listening = Listening::bind(&nbd, &disks, memory)?;
        let plan = Plan { disks, window, costs, memory };
        let clock = Clock::start();
        let bus = slots::open(config, clock)?;
        let (form, latest) = (config.log, Latest::new());
        let metrics = config.metrics.as_ref();
        let metrics = metrics.map(|address| serve::serve(address, latest.clone(), clock)).transpose()?;
        made.keep();
        let engine = Engine::start_listening(plan, listening)?;
        let listener: Arc<Listener> = Arc::new(move |event: &Event| log_event(event, form));
        let looped = Loop::new(
            (engine.handle(), names.clone()),
            (bus, clock),
            settings(config)?,
            (Arc::clone(&listener), latest),
        );
        let fuse = mount(config, &engine, &sizes)?;
        let (orders, inbox) = mpsc::channel();
        let looping = std::thread::Builder::new().name("window".into()).spawn(move || looped.run(&inbox))?;
        let started = config.clone();
        let running =
            Self { sizes, executors, fuse, engine, orders, looping, listener, names, metrics, started };
        running.log_where(config, &nbd.listen);
        Ok(running)
    }

    /// Where clients find the disks, with the ports that the system chose.
    fn log_where(&self, config: &ShareConfig, places: &[ListenAddress]) {
        warn_of_open(config, places);
        let nbd = Address::with_ports(places.iter().map(|place| &place.address), self.engine.ports());
        let nbd = nbd.iter().map(Address::to_string).collect::<Vec<_>>().join(", ");
        let files: Vec<String> = self.fuse.iter().map(|front| front.file().display().to_string()).collect();
        let fields = json!({
            "disks": self.names.join(", "),
            "by": self.executors.join(", "),
            "nbd": nbd,
            "files": files.join(", "),
            "metrics": self.metrics_address(),
        });
        write(&line(("info", "serving", fields), unix_time().as_millis(), config.log));
        warn_of_assumed_costs(config);
    }

    pub fn log_mounted(&self, at: &Path, form: Form) {
        let fields = json!({ "at": at.display().to_string(), "metrics": self.metrics_address() });
        write(&line(("info", "mounted", fields), unix_time().as_millis(), form));
    }

    fn metrics_address(&self) -> Option<String> {
        self.metrics.as_ref().map(|server| server.address().to_string())
    }

    /// Heeds what it can; says what it could not.
    pub(super) fn reload(&mut self, config: &ShareConfig) -> Result<Vec<String>> {
        let settings = settings(config)?;
        let send =
            |order: Order| self.orders.send(order).map_err(|_| anyhow!("the thread of the window has ended"));
        send(Order::Set(Box::new(settings)))?;
        for (place, name) in self.names.iter().enumerate() {
            if let Some(disk) = config.disks.iter().find(|disk| disk.name == *name) {
                send(Order::Shares(place, disk.share))?;
            }
        }
        heed(&mut self.started, config);
        Ok(ignored(&self.started, config))
    }

    /// A way to the engine for a front of somebody else's.
    pub fn handle(&self) -> Handle {
        self.engine.handle()
    }

    pub fn is_well(&self) -> bool {
        !self.engine.has_failed()
    }

    pub fn stop(mut self) -> Result<ExitCode> {
        let log = |event| write(&line(event, unix_time().as_millis(), self.started.log));
        let mut failed = None;
        for front in &mut self.fuse {
            match front.unmount() {
                Err(FuseError::Busy(at)) => {
                    let why = "a process has the file open, and its next request fails";
                    log(("warn", "still_open", json!({ "at": at, "why": why })));
                }
                ended => failed = failed.or(ended.err()),
            }
        }
        // A loop that has ended already needs no order.
        let _ = self.orders.send(Order::Stop);
        let _ = self.looping.join();
        self.engine.stop()?;
        if let Some(error) = failed {
            return Err(error.into());
        }
        log(("info", "stopped", json!({})));
        Ok(ExitCode::SUCCESS)
    }
}

fn mount(config: &ShareConfig, engine: &Engine, sizes: &[(u64, bool)]) -> Result<Vec<FuseFront>> {
    let mut shown = Vec::new();
    for (place, (disk, &(bytes, read_only))) in config.disks.iter().zip(sizes).enumerate() {
        let Some(at) = &disk.fuse else { continue };
        let file = FuseDisk { disk: place, name: disk.name.clone(), bytes, read_only };
        let front = FuseFront::mount(engine.handle(), file, at);
        shown.push(front.with_context(|| format!("showing disk `{}` as a file", disk.name))?);
    }
    Ok(shown)
}

fn warn_of_open(config: &ShareConfig, places: &[ListenAddress]) {
    for address in open_to_all(config, places) {
        let why = "every machine that reaches this one may write to the disks";
        let hint = "name one address, or give [tls] certificate, key and clients";
        let fields = json!({ "address": address, "why": why, "hint": hint });
        write(&line(("warn", "open_to_all", fields), unix_time().as_millis(), config.log));
    }
}

fn warn_of_assumed_costs(config: &ShareConfig) {
    if config.bus.address.is_none() || config.costs != CostTables::default() {
        return;
    }
    let why = "no costs of I/Os are given: 256 KB count as 1.4 times 16 KB, and a write as a read";
    let hint = "shares of the device's time are only as right as that: `evenkeel share knee --costs` measures the costs";
    let fields = json!({ "why": why, "hint": hint });
    write(&line(("warn", "costs_assumed", fields), unix_time().as_millis(), config.log));
}

fn settings(config: &ShareConfig) -> Result<Settings> {
    Ok(Settings { period: config.window.period, law: config.window.law()?, costs: config.costs.costs()? })
}

fn log_event(event: &Event, form: Form) {
    if !event.is_routine() {
        write(&serve::line(event, unix_time().as_millis(), form));
    }
}

/// To stderr; one that is gone stops no disk.
pub(super) fn write(line: &str) {
    out::tell(&format!("{line}\n"));
}

/// Names of the keys that differ and hold only after a restart.
fn ignored(old: &ShareConfig, new: &ShareConfig) -> Vec<String> {
    let keys = old.differing(new).into_iter().filter(|key| !["disk", "window", "costs"].contains(key));
    let mut found: Vec<String> = keys.map(str::to_owned).collect();
    for disk in &old.disks {
        match new.disks.iter().find(|other| other.name == disk.name) {
            None => found.push(format!("disk `{}` is gone", disk.name)),
            Some(other) if DiskConfig { share: disk.share, ..other.clone() } != *disk => {
                found.push(format!("disk `{}`", disk.name));
            }
            Some(_) => {}
        }
    }
    let is_new = |disk: &&DiskConfig| old.disks.iter().all(|other| other.name != disk.name);
    found.extend(new.disks.iter().filter(is_new).map(|disk| format!("disk `{}` is new", disk.name)));
    found
}

/// Writes the changes that hold at once into the configuration that the host would start with again.
fn heed(old: &mut ShareConfig, new: &ShareConfig) {
    (old.window, old.costs) = (new.window.clone(), new.costs.clone());
    for disk in &mut old.disks {
        let share = new.disks.iter().find(|other| other.name == disk.name).map(|other| other.share);
        disk.share = share.unwrap_or(disk.share);
    }
}

/// Where NBD listens: for all disks first, then for single disks.
fn listen_addresses(config: &ShareConfig) -> Result<Vec<ListenAddress>> {
    let access = config.access(None)?;
    let mut places: Vec<ListenAddress> = config
        .nbd
        .iter()
        .map(|address| ListenAddress { address: address.clone(), disk: None, access })
        .collect();
    for (number, disk) in config.disks.iter().enumerate() {
        let access = config.access(Some(disk))?;
        let own = disk.nbd.iter().cloned();
        places.extend(own.map(|address| ListenAddress { address, disk: Some(number), access }));
    }
    Ok(places)
}

/// TLS for those who come over TCP, where there is a certificate.
fn tls(config: &ShareConfig) -> Result<Option<Arc<ServerConfig>>> {
    let TlsConfig { certificate: Some(certificate), key: Some(key), clients } = &config.tls else {
        return Ok(None);
    };
    let tls = server_tls(certificate.clone(), key.clone(), clients.as_deref());
    tls.context("TLS for clients of the disks").map(Some)
}

/// Those at which every machine that can reach this one may write to the disks: addresses that stand for all of this
/// machine's, without TLS that asks for a certificate.
fn open_to_all(config: &ShareConfig, places: &[ListenAddress]) -> Vec<String> {
    let asks = config.tls.clients.is_some();
    let everywhere = |host: &str| host.parse().is_ok_and(|address: IpAddr| address.is_unspecified());
    let open = places.iter().filter(|place| match &place.address {
        Address::Tcp { host, .. } => !asks && everywhere(host),
        Address::Unix(_) => false,
    });
    open.map(|place| place.address.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::share::DiskConfig;

    #[test]
    fn what_needs_a_restart_is_named_and_the_rest_is_not() {
        let disk = |name: &str| DiskConfig::new(name, format!("/dev/{name}"));
        let old = ShareConfig::new("web1", vec![disk("a"), disk("b")]);
        let mut new = old.clone();
        (new.disks[0].share, new.window.law) = (7.0, "parda".to_owned());
        assert_eq!(ignored(&old, &new), Vec::<String>::new());
        new.disks[1].read_only = true;
        new.disks.push(disk("c"));
        new.disks.remove(0);
        (new.memory.0, new.bus.array) = (1 << 20, "other".to_owned());
        assert_eq!(ignored(&old, &new), ["bus", "memory", "disk `a` is gone", "disk `b`", "disk `c` is new"]);
        let mut heeded = old.clone();
        heed(&mut heeded, &new);
        assert_eq!(
            (heeded.disks[0].share, heeded.window.law.as_str()),
            (1.0, "parda"),
            "it is not in the new one"
        );
        assert_eq!(ignored(&heeded, &new), ignored(&old, &new), "the rest stays as it was");
    }

    #[test]
    fn disks_have_places_of_their_own_and_those_open_to_all_are_named() {
        let mut disk = DiskConfig::new("b", "/b");
        disk.nbd = vec!["/run/b.sock".parse().unwrap(), "0.0.0.0:10810".parse().unwrap()];
        let mut config = ShareConfig::new("h", vec![DiskConfig::new("a", "/a"), disk]);
        config.nbd = vec!["127.0.0.1:10809".parse().unwrap(), "[::]:10811".parse().unwrap()];
        let places = listen_addresses(&config).unwrap();
        let only: Vec<Option<usize>> = places.iter().map(|place| place.disk).collect();
        assert_eq!(only, [None, None, Some(1), Some(1)]);
        assert_eq!(open_to_all(&config, &places), ["[::]:10811", "0.0.0.0:10810"]);
        config.tls.clients = Some("/ca.pem".into());
        assert!(open_to_all(&config, &places).is_empty());
        let asked = places.iter().map(|place| &place.address);
        let ports: Vec<String> =
            Address::with_ports(asked, &[1, 2, 3]).iter().map(ToString::to_string).collect();
        assert_eq!(ports, ["127.0.0.1:1", "[::]:2", "/run/b.sock", "0.0.0.0:3"]);
    }
}
