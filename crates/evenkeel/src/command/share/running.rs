//! A host that serves its disks: what runs, what of a new configuration it heeds, and its end.

use super::backing;
use super::{bus, listening, reload};
use crate::clock::unix_time;
use crate::config::costs::CostTables;
use crate::config::share::ShareConfig;
use crate::out;
use crate::share::{log, serve};
use crate::view::http::Server;
use crate::view::log::{Form, line};
use anyhow::{Context, Result, anyhow};
use evenkeel_os::clock::Clock;
use evenkeel_os::latest::Latest;
use evenkeel_share::control::{Loop, Order, Settings};
use evenkeel_share::event::{Event, Listener};
use evenkeel_share::{
    Address, Engine, FuseDisk, FuseFront, Handle, ListenAddress, Listening, NbdPlan, Plan, serve_file_systems,
};
use serde_json::json;
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
    pub(super) listener: Arc<dyn Listener>,
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
        let (window, costs, memory) = (config.initial_window, config.costs.costs()?, config.memory as usize);
        // To join the others takes up to two periods. Clients find a socket before, and wait a moment for its greeting.
        let nbd = NbdPlan { listen: listening::of(config)?, tls: listening::tls(config)? };
        let listening = Listening::bind(&nbd, &disks, memory)?;
        let plan = Plan { disks, window, costs, memory };
        let clock = Clock::start();
        let bus = bus::open(config, clock)?;
        let (form, latest) = (config.log, Latest::new());
        let metrics = config.metrics.as_ref();
        let metrics = metrics.map(|address| serve::serve(address, latest.clone(), clock)).transpose()?;
        made.keep();
        let engine = Engine::start_listening(plan, listening)?;
        let listener: Arc<dyn Listener> = Arc::new(move |event: &Event| log_event(event, form));
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
        let nbd = listening::found(places, self.engine.ports());
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
        reload::heed(&mut self.started, config);
        Ok(reload::ignored(&self.started, config))
    }

    /// A way to the engine for a front of somebody else's.
    pub fn handle(&self) -> Handle {
        self.engine.handle()
    }

    pub fn is_well(&self) -> bool {
        !self.engine.has_failed()
    }

    pub fn stop(mut self) -> Result<ExitCode> {
        let unmounted: Result<Vec<()>, _> = self.fuse.iter_mut().map(FuseFront::unmount).collect();
        // A loop that has ended already needs no order.
        let _ = self.orders.send(Order::Stop);
        let _ = self.looping.join();
        self.engine.stop()?;
        unmounted?;
        write(&line(("info", "stopped", json!({})), unix_time().as_millis(), self.started.log));
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
    for address in listening::open_to_all(config, places) {
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
    Ok(Settings { period: config.period, law: config.law()?, costs: config.costs.costs()? })
}

fn log_event(event: &Event, form: Form) {
    if !event.is_routine() {
        write(&log::line(event, unix_time().as_millis(), form));
    }
}

/// To stderr; one that is gone stops no disk.
pub(super) fn write(line: &str) {
    out::tell(&format!("{line}\n"));
}
