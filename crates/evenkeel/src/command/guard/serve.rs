//! Pages of a running guard: metrics, health, status.

use crate::config::guard::GuardConfig;
use crate::guard::metrics;
use crate::view::http::{Page, Server};
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_guard::proxy::Handle;
use evenkeel_guard::snapshot::Snapshot;
use evenkeel_os::Latest;
use evenkeel_site::server::{self, Control, Target, TargetError};
use serde_json::Value;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A controller that has not ticked for so long is not well.
const SILENCE: Nanos = Nanos::from_secs(5);
/// A guard that refused clients so recently is not as well as it should be.
const RECENTLY: Nanos = Nanos::from_secs(5);

/// A server that its sessions have heard so recently is there; else it is asked so often, while somebody asks how it is.
const HEARD: Nanos = Nanos::from_secs(1);
/// Who asked so recently will ask again: monitors ask every five minutes, or more often.
const WATCHED: Nanos = Nanos::from_secs(600);
/// Who asks the server where there is no account of the operator's. It need not exist: a refusal is an answer, and a
/// connection without a login would count as an error of this host, which servers block after some.
const NOBODY: &str = "evenkeel_health";

pub struct Health {
    handle: Handle,
    /// When clients were seen to be refused last, in nanoseconds of the guard's clock; zero for never.
    refused: Arc<AtomicU64>,
    server: Target,
    /// Why the server did not answer when it was asked last; `None` before.
    answered: Mutex<Option<std::result::Result<(), String>>>,
    /// When somebody asked for the health last, in nanoseconds of the guard's clock.
    wanted: AtomicU64,
}

impl Health {
    /// Of the guard behind `handle` and its server; whoever watches it keeps `refused` up to date.
    pub fn new(handle: Handle, refused: Arc<AtomicU64>, config: &GuardConfig) -> Result<Arc<Self>> {
        let server = match (&config.control.monitor, &config.backend) {
            (Some(url), _) => Target::parse(url)?,
            (None, backend) => Target {
                address: backend.clone(),
                user: NOBODY.into(),
                password: None,
                database: None,
                tls: server::TlsMode::default(),
                tls_ca: None,
            },
        };
        let health =
            Arc::new(Self { handle, refused, server, answered: Mutex::default(), wanted: AtomicU64::new(0) });
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

    fn is_heard(&self) -> bool {
        let heard = self.handle.heard();
        heard > Nanos::ZERO && self.handle.clock().now() - heard < HEARD
    }

    /// Asks the server where its answer is wanted and nobody has heard it. To refuse the login is an answer.
    fn look(&self) {
        let wanted = Nanos(self.wanted.load(Ordering::Relaxed));
        let is_known = self.answered.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        let is_wanted = wanted > Nanos::ZERO && self.handle.clock().now() - wanted < WATCHED;
        if self.is_heard() || is_known && !is_wanted {
            return;
        }
        let failed = Control::connect(&self.server).err().filter(is_no_answer);
        let answer = failed.map_or(Ok(()), |error| Err(error.to_string()));
        // That it is not there at the start counts once as a failure, so that the log says it.
        if let Err(why) = &answer
            && !is_known
        {
            self.handle.stats().count_unreachable(why.clone());
        }
        *self.answered.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
    }

    fn answer(&self, snapshot: &Snapshot) -> Page {
        self.wanted.store(self.handle.clock().now().0, Ordering::Relaxed);
        let page = self.page(snapshot);
        if page.code != 200 || self.is_heard() {
            return page;
        }
        match &*self.answered.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(Ok(())) => page,
            Some(Err(why)) => Page::text(503, format!("the server does not answer: {why}\n")),
            None => Page::text(503, "the server has not answered yet\n"),
        }
    }

    fn status(&self, snapshot: &Snapshot) -> Value {
        let (page, mut status) = (self.answer(snapshot), metrics::status(snapshot));
        status["trouble"] = (page.code != 200).then(|| page.body.trim_end()).into();
        status
    }

    fn page(&self, snapshot: &Snapshot) -> Page {
        let refused = Some(Nanos(self.refused.load(Ordering::Relaxed))).filter(|at| *at > Nanos::ZERO);
        health(snapshot, self.handle.clock().now(), refused, metrics::open(self.handle.stats()))
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
            "/metrics" => Page::metrics(metrics::text(&snapshot, health.handle.stats())),
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
