//! What a watch has done, served for Prometheus.

use super::counts::{self, Counts};
use crate::clock::Clock;
use crate::out;
use crate::view::http::{Page, Server};
use anyhow::Result;
use evenkeel_os::latest::Latest;

/// Serves the latest counts until what it returns is dropped.
pub fn serve(address: &str, latest: &Latest<Counts>, clock: &Clock) -> Result<Server> {
    let (latest, clock) = (latest.clone(), *clock);
    let server = Server::start(address, move |path| match (path, latest.get()) {
        ("/metrics", Some(counts)) => Page::metrics(counts::text(&counts, clock.now())),
        _ => Page::text(404, "there is /metrics\n"),
    })?;
    out::tell(&format!("metrics at http://{}/metrics\n", server.address()));
    Ok(server)
}
