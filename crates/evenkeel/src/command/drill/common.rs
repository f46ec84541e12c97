//! What the commands of a drill have in common: servers with a database, and progress.

use crate::command::{Session, mode};
use crate::progress::{ProgressEvent, View};
use crate::server::place;
use anyhow::Result;
use evenkeel_haul::HaulError;
use evenkeel_haul::drill::Tell;
use evenkeel_haul::ledger::Plan;
use evenkeel_site::server::Target;

/// A server with the database of the ledger's table.
pub fn target(session: &Session, text: &str) -> Result<Target> {
    let target = place::target(session, text, "")?;
    place::named_database(&target)?;
    Ok(target)
}

/// A server, whatever its databases.
pub fn server(session: &Session, text: &str) -> Result<Target> {
    Ok(Target { database: None, ..place::target(session, text, "")? })
}

/// Writers to these servers; other ones than sandboxes have to be confirmed by the names of their hosts.
pub fn plan(session: &Session, servers: &[String], staging: &[String]) -> Result<Plan> {
    let targets = servers.iter().map(|text| target(session, text)).collect::<Result<_>>()?;
    let are_ours = servers.iter().all(|text| text.starts_with("sandbox:"));
    Ok(Plan { targets, hosts: (!are_ours).then(|| staging.to_vec()), ..Plan::default() })
}

/// Does something long, and shows how far it is.
pub fn shown<T>(
    session: &Session,
    json: bool,
    act: impl FnOnce(Tell<'_>) -> Result<T, HaulError>,
) -> Result<T> {
    let mut view = View::new(mode(session, json));
    Ok(act(&mut |text| view.show(&ProgressEvent::Step { text: text.to_owned() }))?)
}
