//! A running guard: data plane, controller, metrics, signals.

use super::super::Session;
use super::Flags;
use super::monitor::Monitor;
use crate::clock::unix_time;
use crate::config::guard::GuardConfig;
use crate::failure::WithHint;
use crate::guard::watch::{Counts, Watch};
use crate::guard::{journal, log, metrics, status::Status};
use crate::view::http::{Page, Server};
use crate::view::log::Form;
use crate::view::prometheus;
use anyhow::{Context, Result, anyhow};
use evenkeel_core::Nanos;
use evenkeel_core::control::Law;
use evenkeel_gate::board::Board;
use evenkeel_gate::control::{Loop, Order, Place, Recorder, Sensors, ServerStatus, StatusBoard};
use evenkeel_gate::event::{Event, Listener};
use evenkeel_gate::guard::{Address, Guard, Handle};
use evenkeel_gate::snapshot::Snapshot;
use std::net::{TcpStream, ToSocketAddrs};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// How often signals are looked at.
const NAP: Duration = Duration::from_millis(50);
/// Naps between two looks at what connections do.
const LOOKS: u32 = 20;
/// The controller answers between two ticks.
const ANSWER: Duration = Duration::from_secs(1);
/// A controller that has not ticked for so long is not well.
const SILENCE: Nanos = Nanos::from_secs(5);

/// Runs until SIGTERM.
pub fn run(session: &Session, flags: &Flags, config: GuardConfig) -> Result<ExitCode> {
    let hangup = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGHUP, Arc::clone(&hangup))
        .context("installing the handler for SIGHUP")?;
    if flags.require_backend {
        reach(&config.plan.backend)?;
    }
    let form = config.log;
    let listener: Arc<dyn Listener> = Arc::new(move |event: &Event| tell(event, form));
    let guard = Guard::start(config.plan.clone())?;
    let mut running = Running::start(&guard, &config, Arc::clone(&listener))?;
    listener.tell(&Event::Listening {
        address: listening(&config.plan.listen, &guard.ports()),
        backend: config.plan.backend.to_string(),
        metrics: running.metrics.as_ref().map(|server| server.address().to_string()),
    });
    let (mut watch, mut looks) = (Watch::default(), 0_u32);
    while !session.stop.is_set() && !guard.has_failed() {
        std::thread::sleep(NAP);
        looks = (looks + 1) % LOOKS;
        if looks == 0 {
            watch.look(counts(&guard.handle())).iter().for_each(|event| listener.tell(event));
        }
        if hangup.swap(false, Ordering::Relaxed) {
            let event = match flags.read().and_then(|config| running.reload(&guard, &config)) {
                Ok(()) => Event::Reloaded,
                Err(error) => {
                    Event::ReloadFailed { reason: format!("{error:#}; the old configuration holds") }
                }
            };
            listener.tell(&event);
        }
    }
    drain(guard, running, &config, &*listener)
}

/// The addresses with the ports that the system chose where port 0 was asked for.
fn listening(asked: &[Address], ports: &[u16]) -> String {
    let mut ports = ports.iter();
    let told = asked.iter().map(|address| match address {
        Address::Tcp { host, port } => {
            let port = *ports.next().unwrap_or(port);
            Address::Tcp { host: host.clone(), port }.to_string()
        }
        Address::Unix(path) => path.display().to_string(),
    });
    told.collect::<Vec<_>>().join(", ")
}

/// Whether something listens at the server's address.
fn reach(backend: &Address) -> Result<()> {
    let reached = match backend {
        Address::Unix(path) => std::os::unix::net::UnixStream::connect(path).map(drop),
        Address::Tcp { host, port } => (host.as_str(), *port).to_socket_addrs().and_then(|mut addresses| {
            let mut failed = std::io::Error::other("no address of that name");
            let mut tried =
                |address| TcpStream::connect_timeout(&address, ANSWER).map_err(|error| failed = error);
            if addresses.any(|address| tried(address).is_ok()) { Ok(()) } else { Err(failed) }
        }),
    };
    let told = reached.with_context(|| format!("reaching the server at {backend}"));
    told.hint("start it, or leave out --require-backend: the guard then waits for it")
}

fn drain(guard: Guard, running: Running, config: &GuardConfig, listener: &dyn Listener) -> Result<ExitCode> {
    let census = guard.census();
    listener.tell(&Event::Draining { running: census.running + census.lent, deadline: config.drain });
    // The controller goes on while transactions end.
    let cut = guard.stop(config.drain)?;
    listener.tell(&Event::Drained { cut });
    drop(running);
    Ok(ExitCode::SUCCESS)
}

/// Events go to stderr; a stderr that is gone stops no guard.
fn tell(event: &Event, form: Form) {
    use std::io::Write;
    if log::is_routine(event) {
        return;
    }
    let line = log::line(event, unix_time().as_millis(), form);
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// What runs beside the data plane; dropping it stops the controller and the metrics.
struct Running {
    orders: mpsc::Sender<Order>,
    law: Law,
    looping: Option<std::thread::JoinHandle<()>>,
    metrics: Option<Server>,
    _monitor: Option<Monitor>,
}

impl Running {
    fn start(guard: &Guard, config: &GuardConfig, listener: Arc<dyn Listener>) -> Result<Self> {
        let (handle, board, status) = (guard.handle(), Board::new(), StatusBoard::new());
        let clock = handle.clock();
        let monitor =
            config.monitor.as_ref().map(|url| Monitor::start(url, status.clone(), clock)).transpose()?;
        let server_status = monitor.as_ref().map(|_| ServerStatus::new(status));
        let sensors = Sensors::new(place(&config.plan.backend), config.counters, server_status);
        let looped = Loop::new(
            (Arc::new(handle.clone()), clock),
            (config.law()?.build(), sensors),
            config.settings(),
            (listener, board.clone()),
            recorder(config)?,
        );
        weigh(guard, config);
        let (orders, inbox) = mpsc::channel();
        let metrics = config.metrics.as_ref();
        let metrics = metrics.map(|address| serve(address, board, handle, orders.clone())).transpose()?;
        let looping =
            std::thread::Builder::new().name("controller".into()).spawn(move || looped.run(&inbox))?;
        Ok(Self { orders, law: config.law()?, looping: Some(looping), metrics, _monitor: monitor })
    }

    fn reload(&mut self, guard: &Guard, config: &GuardConfig) -> Result<()> {
        // One that is asked for as before keeps what it has learnt.
        let wanted = config.law()?;
        let controller = (wanted != self.law).then(|| wanted.build());
        self.law = wanted;
        let order = Order::Set(config.settings(), controller);
        self.orders.send(order).map_err(|_| anyhow!("the controller's thread has ended"))?;
        weigh(guard, config);
        Ok(())
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

fn weigh(guard: &Guard, config: &GuardConfig) {
    guard.with_gate(|gate, _| {
        for (name, weight) in &config.weights {
            let tenant = gate.tenant(name);
            gate.set_weight(tenant, *weight);
        }
    });
}

fn place(backend: &Address) -> Option<Place> {
    match backend {
        Address::Unix(path) => Some(Place::Unix(path.clone())),
        Address::Tcp { host, port } => {
            Some(Place::Tcp((host.as_str(), *port).to_socket_addrs().ok()?.next()?))
        }
    }
}

fn recorder(config: &GuardConfig) -> Result<Recorder> {
    let Some(path) = &config.journal else { return Ok(Box::new(|_| ())) };
    let mut writer = Some(journal::Writer::open(path, journal::FILE_MAX)?);
    let form = config.log;
    Ok(Box::new(move |entry| {
        if let Some(Err(error)) = writer.as_mut().map(|writer| writer.write(entry)) {
            // A full disk costs the journal, not the guard.
            tell(&Event::JournalLost { reason: format!("{error:#}") }, form);
            writer = None;
        }
    }))
}

fn serve(
    address: &str,
    board: Board<Snapshot>,
    handle: Handle,
    orders: mpsc::Sender<Order>,
) -> Result<Server> {
    Server::start(address, move |path| {
        let Some(snapshot) = board.latest() else {
            return Page::text(503, "the controller has not ticked yet\n");
        };
        let age = handle.clock().now() - snapshot.at;
        match path {
            "/metrics" => Page {
                code: 200,
                content_type: prometheus::CONTENT_TYPE,
                body: metrics::text(&snapshot, &counts(&handle)),
            },
            "/journal" => match journal_text(&orders) {
                Ok(body) => Page { code: 200, content_type: "application/x-ndjson", body },
                Err(error) => Page::text(503, format!("{error:#}\n")),
            },
            "/healthz" if age > SILENCE => {
                Page::text(503, format!("the controller has not ticked for {:.1} s\n", age.as_secs_f64()))
            }
            "/healthz" => Page::text(200, format!("ok: {}\n", snapshot.verdict)),
            "/status" => match serde_json::to_string(&Status::from(&*snapshot)) {
                Ok(body) => Page { code: 200, content_type: "application/json", body },
                Err(error) => Page::text(503, format!("{error}\n")),
            },
            _ => Page::text(404, "there are /metrics, /healthz, /status and /journal\n"),
        }
    })
}

/// What the loop remembers: the last quarter of an hour.
fn journal_text(orders: &mpsc::Sender<Order>) -> Result<String> {
    let (reply, answer) = mpsc::channel();
    orders.send(Order::Journal(reply)).map_err(|_| anyhow!("the controller's thread has ended"))?;
    journal::text(&answer.recv_timeout(ANSWER).context("waiting for the controller")?)
}

fn counts(handle: &Handle) -> Counts {
    let stats = handle.stats();
    Counts {
        accepted: stats.accepted.get(),
        closed: stats.closed.get(),
        logins: stats.logins.get(),
        refused: stats.refused.get(),
        malformed: stats.malformed.get(),
        unreachable: stats.unreachable.get(),
        commands: stats.commands.get(),
        resets: stats.resets.get(),
    }
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
