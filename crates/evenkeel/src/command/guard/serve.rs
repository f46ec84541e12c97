//! Pages of a running guard: metrics, health, status, journal.

use crate::guard::watch::Counts;
use crate::guard::{journal, metrics, status::Status};
use crate::view::http::{Answer, Page, Server};
use crate::view::prometheus;
use anyhow::{Context, Result, anyhow};
use evenkeel_core::Nanos;
use evenkeel_guard::control::Order;
use evenkeel_guard::proxy::Handle;
use evenkeel_guard::snapshot::Snapshot;
use evenkeel_os::latest::Latest;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// The controller answers between two ticks.
const ANSWER: Duration = Duration::from_secs(1);
/// A controller that has not ticked for so long is not well.
const SILENCE: Nanos = Nanos::from_secs(5);
/// A guard that refused clients so recently is not as well as it should be.
const RECENTLY: Nanos = Nanos::from_secs(5);

/// How the guard itself is.
pub struct Health {
    handle: Handle,
    /// When clients were seen to be refused last, in nanoseconds of the guard's clock; zero for never.
    refused: Arc<AtomicU64>,
}

impl Health {
    /// Of the guard behind `handle`; whoever watches it keeps `refused` up to date.
    pub fn new(handle: Handle, refused: Arc<AtomicU64>) -> Self {
        Self { handle, refused }
    }

    fn page(&self, snapshot: &Snapshot) -> Page {
        let refused = Some(Nanos(self.refused.load(Ordering::Relaxed))).filter(|at| *at > Nanos::ZERO);
        let counts = Counts::from(self.handle.stats());
        health(snapshot, self.handle.clock().now(), refused, counts.accepted.saturating_sub(counts.closed))
    }
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
///
/// # Errors
/// The address is taken, or none.
pub fn serve(
    address: &str,
    latest: Latest<Snapshot>,
    health: Health,
    orders: mpsc::Sender<Order>,
) -> Result<Server> {
    Server::start(address, move |path| {
        let Some(snapshot) = latest.get() else {
            return Page::text(503, "the controller has not ticked yet\n").into();
        };
        let page = match path {
            "/metrics" => Page {
                code: 200,
                content_type: prometheus::CONTENT_TYPE,
                body: metrics::text(&snapshot, &Counts::from(health.handle.stats())),
            },
            "/journal" => return later(&orders),
            "/healthz" => health.page(&snapshot),
            "/status" => match serde_json::to_string(&Status::from(&*snapshot)) {
                Ok(body) => Page { code: 200, content_type: "application/json", body },
                Err(error) => Page::text(503, format!("{error}\n")),
            },
            _ => Page::text(404, "there are /metrics, /healthz, /status and /journal\n"),
        };
        page.into()
    })
}

/// The journal, once the controller has handed it over.
fn later(orders: &mpsc::Sender<Order>) -> Answer {
    let orders = orders.clone();
    Answer::Later(Box::new(move || match journal_text(&orders) {
        Ok(body) => Page { code: 200, content_type: "application/x-ndjson", body },
        Err(error) => Page::text(503, format!("{error:#}\n")),
    }))
}

/// What the loop remembers: the last quarter of an hour.
fn journal_text(orders: &mpsc::Sender<Order>) -> Result<String> {
    let (reply, answer) = mpsc::channel();
    orders.send(Order::Journal(reply)).map_err(|_| anyhow!("the controller's thread has ended"))?;
    journal::text(&answer.recv_timeout(ANSWER).context("waiting for the controller")?)
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
