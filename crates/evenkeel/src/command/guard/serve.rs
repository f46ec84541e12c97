//! Pages of a running guard: metrics, health, status.

use crate::guard::metrics;
use crate::view::http::{Page, Server};
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_guard::proxy::Handle;
use evenkeel_guard::snapshot::Snapshot;
use evenkeel_os::Latest;
use evenkeel_site::server::{Control, Target, TargetError};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A controller that has not ticked for so long is not well.
const SILENCE: Nanos = Nanos::from_secs(5);
/// A guard that refused clients so recently is not as well as it should be.
const RECENTLY: Nanos = Nanos::from_secs(5);

/// A server that its sessions have heard so recently is there; else it is asked so often, where there is a reason to. One
/// that does not answer for so long is not there.
const HEARD: Nanos = Nanos::from_secs(1);
/// ER_CON_COUNT_ERROR. Whoever was refused by it tries again, mostly within a few seconds.
const TOO_MANY_CONNECTIONS: u16 = 1040;
/// Who asked so recently will ask again: monitors ask every five minutes, or more often.
const WATCHED: Nanos = Nanos::from_secs(600);
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub struct Health {
    handle: Handle,
    /// When clients were seen to be refused last, in nanoseconds of the guard's clock; zero for never.
    refused: Arc<AtomicU64>,
    /// Which server is asked, and as whom.
    asking: Arc<Mutex<Target>>,
    known: Mutex<Known>,
    /// When somebody asked for the health last, in nanoseconds of the guard's clock.
    wanted: AtomicU64,
    /// Metrics were read since the server was asked last.
    scraped: AtomicBool,
}

/// What is known of the server, times by the guard's clock.
#[derive(Default)]
struct Known {
    /// Why it did not answer when it was asked last; `None` before.
    answer: Option<std::result::Result<(), String>>,
    /// Since when it is being asked.
    asked: Option<Nanos>,
    /// When it refused a login last because it was full; none after a while without.
    full: Option<Nanos>,
    /// Logins of clients that it had refused so by the last look.
    refused: u64,
    /// Clients and their commands by the last look, and those behind which it was heard or asked.
    used: u64,
    used_known: u64,
}

impl Health {
    /// Of the guard behind `handle` and its server; whoever watches it keeps `refused` up to date.
    pub fn new(handle: Handle, refused: Arc<AtomicU64>, asking: Arc<Mutex<Target>>) -> Result<Arc<Self>> {
        let health = Arc::new(Self {
            handle,
            refused,
            asking,
            known: Mutex::default(),
            wanted: AtomicU64::new(0),
            scraped: AtomicBool::new(false),
        });
        let weak = Arc::downgrade(&health);
        let watch = move || {
            while let Some(health) = weak.upgrade() {
                health.look();
                drop(health);
                std::thread::sleep(HEARD.into());
            }
        };
        std::thread::Builder::new().name("health".into()).spawn(watch)?;
        Ok(health)
    }

    fn now(&self) -> Nanos {
        self.handle.clock().now()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        locked(&self.known)
    }

    fn is_heard(&self) -> bool {
        let heard = self.handle.heard();
        heard > Nanos::ZERO && self.now() - heard < HEARD
    }

    /// Asks the server where nobody has heard it, and somebody wants to know, clients want something of it, or it was not
    /// well before. To refuse the login is an answer, if it is not for want of room.
    fn look(&self) {
        if !self.has_to_ask() {
            return;
        }
        let asking = locked(&self.asking).clone();
        let failed = Control::connect(&asking).err();
        let mut known = self.known();
        known.asked = None;
        if failed.as_ref().and_then(TargetError::code) == Some(TOO_MANY_CONNECTIONS) {
            known.full = Some(self.now());
        }
        let failed = failed.filter(is_no_answer).map(|error| format!("the server does not answer: {error}"));
        known.answer = Some(failed.map_or(Ok(()), Err));
    }

    /// Takes in what clients have done; whether the server has to be asked, which begins now.
    fn has_to_ask(&self) -> bool {
        let (now, stats, mut known) = (self.now(), self.handle.stats(), self.known());
        let (refused, used) = (stats.backend_full.get(), stats.accepted.get() + stats.commands.get());
        let used_before = std::mem::replace(&mut known.used, used);
        if refused > std::mem::replace(&mut known.refused, refused) {
            known.full = Some(now);
        } else if known.full.is_some_and(|at| now - at >= RECENTLY) {
            known.full = None;
        }
        if self.is_heard() && known.full.is_none() {
            // What was sent since the look before may be what is not answered any more.
            (known.answer, known.used_known) = (Some(Ok(())), used_before);
            return false;
        }
        let wanted = Nanos(self.wanted.load(Ordering::Relaxed));
        let is_wanted = wanted > Nanos::ZERO && now - wanted < WATCHED;
        let is_well = known.answer == Some(Ok(())) && known.full.is_none();
        let is_used = used > std::mem::replace(&mut known.used_known, used);
        let asks = !is_well || is_used || is_wanted || self.scraped.swap(false, Ordering::Relaxed);
        known.asked = asks.then_some(now);
        asks
    }

    /// Why the server serves no clients now; `None` before that is known.
    fn server(&self) -> Option<std::result::Result<(), String>> {
        let (now, known) = (self.now(), self.known());
        match &known.answer {
            _ if known.full.is_some() => Some(Err(format!(
                "the server refuses logins: error {TOO_MANY_CONNECTIONS}, too many connections"
            ))),
            _ if self.is_heard() => Some(Ok(())),
            Some(Ok(())) | None if known.asked.is_some_and(|at| now - at >= HEARD) => {
                Some(Err("the server does not answer within 1 s".into()))
            }
            answer => answer.clone(),
        }
    }

    /// For the log: why the server serves no clients.
    pub fn trouble(&self) -> Option<String> {
        self.server()?.err()
    }

    fn answer(&self, snapshot: &Snapshot) -> Page {
        self.wanted.store(self.now().0, Ordering::Relaxed);
        let page = self.page(snapshot);
        match self.server() {
            Some(Err(why)) if page.code == 200 => Page::text(503, format!("{why}\n")),
            None if page.code == 200 => Page::text(503, "the server has not answered yet\n"),
            _ => page,
        }
    }

    fn metrics(&self, snapshot: &Snapshot) -> Page {
        self.scraped.store(true, Ordering::Relaxed);
        let is_up = self.server() == Some(Ok(()));
        Page::metrics(metrics::text(snapshot, self.handle.stats(), self.handle.capture(), is_up))
    }

    fn status(&self, snapshot: &Snapshot) -> Value {
        let (page, mut status) = (self.answer(snapshot), metrics::status(snapshot));
        status["trouble"] = (page.code != 200).then(|| page.body.trim_end()).into();
        status
    }

    fn page(&self, snapshot: &Snapshot) -> Page {
        let refused = Some(Nanos(self.refused.load(Ordering::Relaxed))).filter(|at| *at > Nanos::ZERO);
        health(snapshot, self.now(), refused, metrics::open(self.handle.stats()))
    }
}

fn is_no_answer(error: &TargetError) -> bool {
    use TargetError::{Lost, Protocol, Refused, Silent, Timeout, Unreachable};
    matches!(
        error,
        Unreachable { .. } | Refused { .. } | Timeout { .. } | Silent { .. } | Lost { .. } | Protocol { .. }
    )
}

/// For a load balancer: a guard that is up and holds what it decided last is one to send clients to, and says where it
/// falls short of that. `refused` is when clients were refused last, `open` how many are connected.
fn health(snapshot: &Snapshot, now: Nanos, refused: Option<Nanos>, open: u64) -> Page {
    let age = now - snapshot.at;
    if age > SILENCE {
        return Page::text(503, format!("the controller has not ticked for {:.1} s\n", age.as_secs_f64()));
    }
    match refused {
        Some(at) if now - at < RECENTLY => {
            Page::text(200, format!("degraded: clients are refused, {open} are connected\n"))
        }
        _ => Page::text(200, format!("ok: {}\n", snapshot.verdict)),
    }
}

/// Serves the `latest` snapshot of the loop, and the health of the guard.
/// Errors: the address is taken, or none.
pub fn serve(address: &str, latest: Latest<Snapshot>, health: Arc<Health>) -> Result<Server> {
    Server::start(address, move |path| {
        let Some(snapshot) = latest.get() else {
            return Page::text(503, "the controller has not ticked yet\n");
        };
        match path {
            "/metrics" => health.metrics(&snapshot),
            "/healthz" => health.answer(&snapshot),
            "/status" => Page::json(&health.status(&snapshot)),
            _ => Page::text(404, "there are /metrics, /healthz and /status\n"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::fixture::snapshot;

    #[test]
    fn health_says_when_clients_are_refused_and_that_it_is_over() {
        let snapshot = snapshot();
        let at = |now, refused| health(&Snapshot { at: now, ..snapshot.clone() }, now, refused, 40);
        assert_eq!(at(Nanos::from_secs(9), None), Page::text(200, "ok: limit 4, because it is fixed\n"));
        let degraded = Page::text(200, "degraded: clients are refused, 40 are connected\n");
        assert_eq!(at(Nanos::from_secs(9), Some(Nanos::from_secs(7))), degraded);
        assert_eq!(
            at(Nanos::from_secs(19), Some(Nanos::from_secs(7))).body,
            "ok: limit 4, because it is fixed\n"
        );
    }

    #[test]
    fn a_controller_that_stands_still_is_not_well_whatever_else_is() {
        let snapshot = Snapshot { at: Nanos::from_secs(1), ..snapshot() };
        let page = health(&snapshot, Nanos::from_secs(8), Some(Nanos::from_secs(7)), 40);
        assert_eq!(page, Page::text(503, "the controller has not ticked for 7.0 s\n"));
    }
}
