//! `evenkeel share disk`: backings, fronts, and what sets the window, until SIGTERM.

use super::super::Session;
use super::flags::Flags;
use super::{backing, bus, places, reload};
use crate::clock::unix_time;
use crate::config::share::{DiskConfig, ShareConfig};
use crate::out;
use crate::share::{log, serve};
use crate::view::http::Server;
use crate::view::log::{Form, line};
use anyhow::{Context, Result, anyhow};
use evenkeel_gate::board::Board;
use evenkeel_gate::clock::Clock;
use evenkeel_gate::share::control::{Loop, Order, Settings};
use evenkeel_gate::share::event::{Event, Listener};
use evenkeel_gate::share::{
    Address, DiskPlan, Engine, FuseDisk, FuseFront, Handle, Listening, NbdPlan, Place, Plan,
    serve_file_systems,
};
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often signals are looked at.
const NAP: Duration = Duration::from_millis(50);

/// Runs until SIGTERM.
pub fn run(session: &Session, flags: &Flags) -> Result<ExitCode> {
    let config = flags.read()?;
    if flags.check {
        out::line("the configuration is right")?;
        return Ok(ExitCode::SUCCESS);
    }
    let hangup = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGHUP, Arc::clone(&hangup))
        .context("installing the handler for SIGHUP")?;
    let mut running = Running::start(&config)?;
    while !session.stop.is_set() && running.is_well() {
        std::thread::sleep(NAP);
        if hangup.swap(false, Ordering::Relaxed) {
            let event = match flags.read().and_then(|config| running.reload(&config)) {
                Ok(ignored) => Event::Reloaded { ignored },
                Err(error) => {
                    Event::ReloadFailed { reason: format!("{error:#}; the old configuration holds") }
                }
            };
            running.listener.tell(&event);
        }
    }
    running.stop()
}

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
    listener: Arc<dyn Listener>,
    names: Vec<String>,
    metrics: Option<Server>,
    /// The configuration that it was started with.
    started: ShareConfig,
}

impl Running {
    pub fn start(config: &ShareConfig) -> Result<Self> {
        // Where it may not, a machine without memory can stand still when it writes to its own disk.
        let _ = serve_file_systems();
        let names: Vec<String> = config.disks.iter().map(|disk| disk.name.clone()).collect();
        let disks = backing::open(config)?;
        let sizes: Vec<(u64, bool)> =
            disks.iter().map(|disk| (disk.backing.bytes(), disk.backing.is_read_only())).collect();
        let executors = disks.iter().map(|disk| disk.backing.executor()).collect();
        let (window, costs, memory) = (config.window, config.costs.costs()?, config.memory as usize);
        // To join the others takes up to two periods. Clients find a socket before, and wait a moment for its greeting.
        let nbd = NbdPlan { listen: places::of(config)?, tls: places::tls(config)? };
        let listening = Listening::bind(&nbd, &disks, memory)?;
        let plan = Plan { disks, window, costs, memory };
        let clock = Clock::start();
        let bus = bus::open(config, clock)?;
        let engine = Engine::start_listening(plan, listening)?;
        let (form, board) = (config.log, Board::new());
        let listener: Arc<dyn Listener> = Arc::new(move |event: &Event| tell(event, form));
        let looped = Loop::new(
            (engine.handle(), names.clone()),
            (bus, clock),
            settings(config)?,
            (Arc::clone(&listener), board.clone()),
        );
        let metrics = config.metrics.as_ref();
        let metrics = metrics.map(|address| serve::serve(address, board, clock)).transpose()?;
        let fuse = mount(config, &engine, &sizes)?;
        let (orders, inbox) = mpsc::channel();
        let looping = std::thread::Builder::new().name("window".into()).spawn(move || looped.run(&inbox))?;
        let started = config.clone();
        let running =
            Self { sizes, executors, fuse, engine, orders, looping, listener, names, metrics, started };
        running.tell_where(config, &nbd.listen);
        Ok(running)
    }

    /// Where clients find the disks, with the ports that the system chose.
    fn tell_where(&self, config: &ShareConfig, places: &[Place]) {
        for address in places::open_to_all(config, places) {
            let why = "every machine that reaches this one may write to the disks";
            let hint = "name one address, or give [tls] certificate, key and clients";
            let fields = json!({ "address": address, "why": why, "hint": hint });
            write(&line(("warn", "open_to_all", fields), unix_time().as_millis(), config.log));
        }
        let nbd = places::found(places.iter().map(|place| &place.address), self.engine.ports());
        let files: Vec<String> = self.fuse.iter().map(|front| front.file().display().to_string()).collect();
        let fields = json!({
            "disks": self.names.join(", "),
            "by": self.executors.join(", "),
            "nbd": list(&nbd),
            "files": files.join(", "),
            "metrics": self.metrics_address(),
        });
        write(&line(("info", "serving", fields), unix_time().as_millis(), config.log));
    }

    /// The disk has a file system and is mounted.
    pub fn tell_mounted(&self, at: &Path, form: Form) {
        let fields = json!({ "at": at.display().to_string(), "metrics": self.metrics_address() });
        write(&line(("info", "mounted", fields), unix_time().as_millis(), form));
    }

    fn metrics_address(&self) -> Option<String> {
        self.metrics.as_ref().map(|server| server.address().to_string())
    }

    /// Heeds what it can; says what it could not.
    fn reload(&mut self, config: &ShareConfig) -> Result<Vec<String>> {
        self.add(reload::added(&self.started, config), config)?;
        let send =
            |order: Order| self.orders.send(order).map_err(|_| anyhow!("the thread of the window has ended"));
        send(Order::Set(Box::new(settings(config)?)))?;
        for (place, name) in self.names.iter().enumerate() {
            if let Some(disk) = config.disks.iter().find(|disk| disk.name == *name) {
                send(Order::Shares(place, disk.share))?;
            }
        }
        Ok(reload::ignored(&self.started, config))
    }

    /// Serves disks that were not there; all of them are opened before the first one is.
    fn add(&mut self, added: Vec<&DiskConfig>, config: &ShareConfig) -> Result<()> {
        let plans: Vec<DiskPlan> =
            added.iter().map(|disk| backing::open_one(disk, config)).collect::<Result<_>>()?;
        for (disk, plan) in added.into_iter().zip(plans) {
            let size = (plan.backing.bytes(), plan.backing.is_read_only());
            let places = places::of_disk(disk, config)?;
            let added = self.engine.add(plan, &places);
            let (place, ports) = added.with_context(|| format!("adding disk `{}`", disk.name))?;
            let nbd = places::found(places.iter().map(|(address, _)| address), &ports);
            self.fuse.extend(show(disk, place, &self.engine, size)?);
            self.sizes.push(size);
            self.names.push(disk.name.clone());
            self.started.disks.push(disk.clone());
            // A loop that has ended says so itself.
            let _ = self.orders.send(Order::Add(disk.name.clone()));
            let fields = json!({ "disk": disk.name, "nbd": list(&nbd) });
            write(&line(("info", "disk_added", fields), unix_time().as_millis(), config.log));
        }
        Ok(())
    }

    /// A way to the engine for a front of somebody else's.
    pub fn handle(&self) -> Handle {
        self.engine.handle()
    }

    /// Whether the disks are served.
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
        Ok(ExitCode::SUCCESS)
    }
}

/// The disks that are to appear as files.
fn mount(config: &ShareConfig, engine: &Engine, sizes: &[(u64, bool)]) -> Result<Vec<FuseFront>> {
    let disks = config.disks.iter().zip(sizes).enumerate();
    let shown: Vec<Option<FuseFront>> =
        disks.map(|(place, (disk, &size))| show(disk, place, engine, size)).collect::<Result<_>>()?;
    Ok(shown.into_iter().flatten().collect())
}

/// One disk, if it is to appear as a file.
fn show(
    disk: &DiskConfig,
    place: usize,
    engine: &Engine,
    (bytes, read_only): (u64, bool),
) -> Result<Option<FuseFront>> {
    let Some(at) = &disk.fuse else { return Ok(None) };
    let file = FuseDisk { disk: place, name: disk.name.clone(), bytes, read_only };
    let mounted = FuseFront::mount(engine.handle(), file, at);
    mounted.with_context(|| format!("showing disk `{}` as a file", disk.name)).map(Some)
}

fn list(addresses: &[Address]) -> String {
    addresses.iter().map(Address::to_string).collect::<Vec<_>>().join(", ")
}

fn settings(config: &ShareConfig) -> Result<Settings> {
    Ok(Settings { period: config.period, law: config.law()?, costs: config.costs.costs()? })
}

fn tell(event: &Event, form: Form) {
    if !event.is_routine() {
        write(&log::line(event, unix_time().as_millis(), form));
    }
}

/// To stderr; one that is gone stops no disk.
fn write(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
