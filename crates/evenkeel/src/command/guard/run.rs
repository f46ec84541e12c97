//! A running guard: data plane, controller, metrics, signals.

use super::super::Session;
use super::Flags;
use super::account::{Account, EventLog};
use super::capture::{CaptureFlags, Capturing};
use super::serve::{Health, locked, serve};
use crate::config::guard::{Changes, GuardConfig};
use crate::guard::journal;
use crate::guard::log::Watch;
use crate::guard::proven;
use crate::view::http::Server;
use anyhow::{Context, Result, anyhow};
use evenkeel_core::control::ControllerSettings;
use evenkeel_guard::control::{
    LatestStatus, Loop, Order, Recorder, Sensors, ServerAddress, ServerStatus, Settings,
};
use evenkeel_guard::event::{Event, Listener};
use evenkeel_guard::proxy::{Address, Guard, Plan};
use evenkeel_guard::snapshot::Snapshot;
use evenkeel_os::Latest;
use evenkeel_os::clock::{Clock, unix_time};
use evenkeel_sense::status::StatusReading;
use evenkeel_site::server::{Control, Target};
use std::collections::BTreeMap;
use std::net::ToSocketAddrs;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

const NAP: Duration = Duration::from_millis(50);
/// Naps between two looks at what connections do, and between two lines of the log about the lanes.
const LOOKS: u32 = 20;
/// Lines of the log about the lanes, and the proven limit, which a guard that is killed must not lose.
const LANES: u32 = 1_200;

/// Runs until SIGTERM.
pub fn run(
    session: &Session,
    (flags, capture): (&Flags, &CaptureFlags),
    mut config: GuardConfig,
) -> Result<ExitCode> {
    let hangup = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGHUP, Arc::clone(&hangup))
        .context("installing the handler for SIGHUP")?;
    let events = Arc::new(EventLog::start(&config).context("starting the log")?);
    let mut capturing = Capturing::start(capture, &config)?;
    let capture = capturing.as_ref().map(|capturing| Arc::clone(&capturing.capture));
    let guard = Guard::start(Plan { capture, ..config.plan()? })?;
    let mut running = Running::start(&guard, &config, Arc::clone(&events))?;
    events.notify(&Event::Listening {
        address: listening(&config.listen, &guard.ports()),
        backend: config.backend.to_string(),
        metrics: running.metrics.as_ref().map(|server| server.address().to_string()),
        fingerprint: guard.handle().fingerprint().map(str::to_owned),
    });
    let (mut watch, mut looks) = (Watch::default(), 0_u32);
    while !session.stop.is_set() && !guard.has_failed() {
        std::thread::sleep(NAP);
        looks = (looks + 1) % LANES;
        if looks.is_multiple_of(LOOKS) {
            running.look(&guard, &config.backend, &mut watch, &events);
            if let Some(capturing) = &mut capturing {
                capturing.look(&*events);
            }
        }
        if looks == 0 {
            running.keep(&config, &events);
            running
                .latest
                .get()
                .and_then(|snapshot| snapshot.lanes())
                .iter()
                .for_each(|event| events.notify(event));
        }
        if hangup.swap(false, Ordering::Relaxed) {
            let event =
                match flags.read_again().and_then(|new| running.reload((&guard, &events), &mut config, &new))
                {
                    Ok(Changes { applied, restart }) => Event::Reloaded { applied, restart },
                    Err(error) => Event::ReloadFailed {
                        reason: format!("{error:#}; the old configuration stays in force"),
                    },
                };
            events.set(&config);
            events.notify(&event);
        }
    }
    drain(guard, running, &config, &events)
}

/// The addresses with the ports that the system chose where port 0 was asked for.
fn listening(asked: &[Address], ports: &[u16]) -> String {
    let told = Address::with_ports(asked, ports);
    told.iter().map(Address::to_string).collect::<Vec<_>>().join(", ")
}

fn drain(guard: Guard, mut running: Running, config: &GuardConfig, events: &EventLog) -> Result<ExitCode> {
    let census = guard.census();
    let open = census.running() + census.aside;
    events.notify(&Event::Draining { running: open, deadline: config.drain });
    // The controller goes on while transactions end.
    let cut = guard.stop(config.drain)?;
    events.notify(&Event::Drained { cut });
    running.keep(config, events);
    drop(running);
    // The controller has ended: its last changes are logged as well.
    events.rest();
    Ok(ExitCode::SUCCESS)
}

/// What runs beside the data plane; dropping it stops the controller and the metrics.
struct Running {
    orders: Sender<Order>,
    controller: ControllerSettings,
    looping: Option<JoinHandle<()>>,
    latest: Latest<Snapshot>,
    /// The proven limit could not be kept the last time, and the log has said so.
    forgets: bool,
    metrics: Option<Server>,
    /// When clients were seen to be refused last, in nanoseconds of the guard's clock; zero for never.
    refused: Arc<AtomicU64>,
    health: Arc<Health>,
    asking: Arc<Mutex<Target>>,
    _monitor: Option<Sender<()>>,
}

impl Running {
    fn start(guard: &Guard, config: &GuardConfig, events: Arc<EventLog>) -> Result<Self> {
        let (handle, latest, status) = (guard.handle(), Latest::new(), LatestStatus::new());
        let clock = handle.clock();
        let monitor = config.control.monitor.as_ref();
        let first = Account::new(config, events.clone());
        let asking = Arc::new(Mutex::new(config.asking()?));
        let monitor = monitor.map(|_| self::monitor(&asking, (status.clone(), clock), first)).transpose()?;
        let server_status = monitor.as_ref().map(|_| ServerStatus::new(status));
        let settings = Settings { initial_limit: begin(config, &events), ..config.settings() };
        let sensors = Sensors::new(server_address(&config.backend), config.control.counters, server_status);
        let looped = Loop::new(
            (Arc::new(handle.clone()), clock),
            (config.controller_from(settings.initial_limit)?.build(), sensors),
            settings,
            (events.clone(), latest.clone()),
            recorder(config, events)?,
        );
        weigh(guard, &config.weights, &BTreeMap::new());
        let (orders, inbox) = mpsc::channel();
        let metrics = config.metrics.as_ref();
        let refused = Arc::new(AtomicU64::new(0));
        let health = Health::new(handle, Arc::clone(&refused), Arc::clone(&asking))?;
        let metrics =
            metrics.map(|address| serve(address, latest.clone(), Arc::clone(&health))).transpose()?;
        let looping =
            std::thread::Builder::new().name("controller".into()).spawn(move || looped.run(&inbox))?;
        Ok(Self {
            orders,
            controller: config.controller_settings()?,
            looping: Some(looping),
            latest,
            forgets: false,
            metrics,
            refused,
            health,
            asking,
            _monitor: monitor,
        })
    }

    /// Logs what connections did since the last look.
    fn look(&self, guard: &Guard, backend: &Address, watch: &mut Watch, events: &EventLog) {
        for event in watch.look(guard.stats(), backend, self.health.trouble()) {
            if matches!(event, Event::Counted { name: "clients_refused", .. }) {
                self.refused.store(guard.now().0, Ordering::Relaxed);
            }
            events.notify(&event);
        }
    }

    /// Keeps the proven limit for the next start, once there is one.
    fn keep(&mut self, config: &GuardConfig, events: &EventLog) {
        let Some(path) = config.state() else { return };
        let Some(snapshot) = self.latest.get().filter(|snapshot| snapshot.totals.work > 0.0) else { return };
        let kept = proven::write(path, &config.backend.to_string(), snapshot.proven, unix_time());
        let failed = std::mem::replace(&mut self.forgets, kept.is_err());
        if let Err(error) = kept
            && !failed
        {
            let text = format!("the best limit cannot be kept: {}: {error:#}", path.display());
            events.notify(&Event::Warned { about: "state", text, hint: "correct `state`".into() });
        }
    }

    /// Takes a new configuration over as far as that is possible while clients are connected. `held` is the one in force, before
    /// and afterwards.
    fn reload(
        &mut self,
        (guard, events): (&Guard, &EventLog),
        held: &mut GuardConfig,
        new: &GuardConfig,
    ) -> Result<Changes> {
        let wanted = new.controller_settings()?;
        let leads = held.backend != new.backend && held.can_lead_to(new);
        if leads {
            guard.lead_to(&new.backend)?;
            self.order(Order::Sense(server_address(&new.backend)))?;
        }
        // One that is asked for as before keeps what it has learnt of its server.
        let controller = (leads || wanted != self.controller).then(|| wanted.build());
        self.controller = wanted;
        self.order(Order::Set(new.settings(), controller))?;
        weigh(guard, &new.weights, &held.weights);
        let changes = Changes::take_over(held, new);
        let (before, now) = (locked(&self.asking).clone(), held.asking()?);
        if leads && before == now {
            let text = "`backend` has changed, and `monitor` has not".to_owned();
            let hint = "if it names the old server, correct it and send SIGHUP".into();
            events.notify(&Event::Warned { about: "monitor", text, hint });
        }
        *locked(&self.asking) = now;
        Ok(changes)
    }

    fn order(&self, order: Order) -> Result<()> {
        self.orders.send(order).map_err(|_| anyhow!("the controller's thread has ended"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A loop that has ended already needs no order.
        let _ = self.orders.send(Order::Stop);
        if let Some(looping) = self.looping.take() {
            let _ = looping.join();
        }
    }
}

/// The limit to start with: the one that was proven lately, where a file keeps it.
fn begin(config: &GuardConfig, events: &EventLog) -> u32 {
    let (initial, most) = (config.control.initial_limit, config.control.max_limit);
    let Some(path) = config.state() else { return initial };
    let (limit, why) = match proven::read(path, &config.backend.to_string(), unix_time()) {
        Ok((limit, age)) => {
            (limit.min(most), format!("it was the best {:.1} h ago", age.as_secs_f64() / 3_600.0))
        }
        Err(error) => (initial, format!("it is `initial_limit`, since no limit was kept: {error:#}")),
    };
    events.notify(&Event::Start { limit, why });
    limit
}

/// Sets the weights; those that are not there any more are one again.
fn weigh(guard: &Guard, weights: &BTreeMap<String, u32>, before: &BTreeMap<String, u32>) {
    let gone = before.keys().filter(|name| !weights.contains_key(*name)).map(|name| (name, &1));
    guard.with_gate(|gate, _| {
        for (name, weight) in weights.iter().chain(gone) {
            let tenant = gate.tenant(name);
            gate.set_weight(tenant, *weight);
        }
    });
}

fn server_address(backend: &Address) -> Option<ServerAddress> {
    match backend {
        Address::Unix(path) => Some(ServerAddress::Unix(path.clone())),
        Address::Tcp { host, port } => {
            Some(ServerAddress::Tcp((host.as_str(), *port).to_socket_addrs().ok()?.next()?))
        }
    }
}

fn recorder(config: &GuardConfig, events: Arc<EventLog>) -> Result<Recorder> {
    let Some(path) = &config.control.journal else { return Ok(Box::new(|_| ())) };
    let mut writer = Some(journal::Writer::open(path, journal::FILE_MAX)?);
    Ok(Box::new(move |entry| {
        if let Some(Err(error)) = writer.as_mut().map(|writer| writer.write(entry)) {
            // A full disk costs the journal, not the guard.
            events.notify(&Event::JournalLost { reason: format!("{error:#}") });
            writer = None;
        }
    }))
}

/// From one reading to the next; a status costs a server about a millisecond.
const EVERY: Duration = Duration::from_millis(500);
/// Until a server that did not answer is asked again.
const PAUSE: Duration = Duration::from_secs(3);
/// A server that says nothing for so long has not answered.
const ANSWER: Duration = Duration::from_secs(10);
const QUERY: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Uptime', 'Uptime_since_flush_status', \
                     'Innodb_row_lock_time', 'Innodb_row_lock_current_waits', 'Threads_running')";

/// Asks the server for its status again and again, and puts each reading into `latest` with the time of `clock`, on a thread
/// that ends when the sender is dropped, or, where its server does not answer, some seconds later. `first` looks at the server once.
/// A server that does not answer is no error, and asked again later.
fn monitor(
    asking: &Arc<Mutex<Target>>,
    (latest, clock): (LatestStatus, Clock),
    first: Account,
) -> Result<Sender<()>> {
    let (asking, (stop, stopped)) = (Arc::clone(asking), mpsc::channel());
    let watch = move || watch(&asking, (&latest, &clock), first, &stopped);
    std::thread::Builder::new().name("monitor".into()).spawn(watch)?;
    Ok(stop)
}

fn watch(
    asking: &Mutex<Target>,
    (latest, clock): (&LatestStatus, &Clock),
    mut first: Account,
    stopped: &Receiver<()>,
) {
    let goes_on = |pause| stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout);
    loop {
        let target = locked(asking).clone();
        match Control::connect(&target) {
            Err(error) => first.fail(&error),
            Ok(mut control) => {
                control.limit_waits(ANSWER);
                first.ask(&mut control);
                while let Some(reading) = read(&mut control).filter(|_| *locked(asking) == target) {
                    latest.put(clock.now(), Some(reading));
                    if !goes_on(EVERY) {
                        return;
                    }
                }
            }
        }
        latest.put(clock.now(), None);
        if !goes_on(PAUSE) {
            return;
        }
    }
}

fn read(control: &mut Control) -> Option<StatusReading> {
    let mut named = Vec::new();
    let rows = control.query(QUERY).ok()?;
    for row in &rows.rows {
        if let [Some(name), Some(value)] = row.as_slice() {
            named.push((name.as_str(), value.as_str()));
        }
    }
    Some(StatusReading::new(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ports_that_the_system_chose_are_told() {
        let asked = ["127.0.0.1:0", "/run/guard.sock", "[::1]:0"].map(|text| text.parse().unwrap());
        assert_eq!(listening(&asked, &[4001, 4002]), "127.0.0.1:4001, /run/guard.sock, [::1]:4002");
    }
}
