//! Connections that share one snapshot.

use crate::{HaulError, refused};
use evenkeel_os::stop::Stop;
use evenkeel_site::server::{Control, Target, TargetError};

/// A connection that reads and writes values as they are in the files: times are in UTC.
pub(super) fn connect(target: &Target, stop: &Stop) -> Result<Control, TargetError> {
    let mut control = Control::connect_until(target, stop)?;
    crate::audit::prepare(&mut control)?;
    control.exec("SET SESSION time_zone = '+00:00'")?;
    control.exec("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
    Ok(control)
}

pub(super) fn begin(control: &mut Control) -> Result<(), TargetError> {
    control.exec("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY").map(drop)
}

/// Opens connections that see their tables as of one instant, which is said by the server's clock. Writes are held back while several are
/// opened.
pub(super) fn open(
    target: &Target,
    connections: usize,
    stop: &Stop,
) -> Result<(Vec<Control>, String), HaulError> {
    let mut all = Vec::new();
    for _ in 0..connections.max(1) {
        all.push(connect(target, stop)?);
    }
    if let [one] = all.as_mut_slice() {
        begin(one)?;
        let at = now(one)?;
        return Ok((all, at));
    }
    let mut lock = Control::connect_until(target, stop)?;
    check_one_server(all.iter_mut().chain([&mut lock]))?;
    // Nobody is to wait for long behind a statement that the lock itself waits for.
    lock.exec("SET SESSION lock_wait_timeout = 30")?;
    lock.exec("FLUSH TABLES WITH READ LOCK").map_err(|error| match error {
        TargetError::Statement { message: reason, .. } => no_snapshot(connections, &reason),
        other => HaulError::from(other),
    })?;
    all.iter_mut().try_for_each(begin)?;
    let at = now(&mut lock)?;
    lock.exec("UNLOCK TABLES")?;
    Ok((all, at))
}

fn now(control: &mut Control) -> Result<String, TargetError> {
    Ok(control.query_value("SELECT UTC_TIMESTAMP(6)")?.unwrap_or_default())
}

/// Refuses connections that lead to several servers, as behind a balancer: the lock holds back writes on one of them alone.
fn check_one_server<'a>(all: impl Iterator<Item = &'a mut Control>) -> Result<(), HaulError> {
    let mut places = Vec::new();
    for control in all {
        places
            .push(control.query_value("SELECT CONCAT_WS(' ', @@hostname, @@port, @@server_id, @@datadir)")?);
    }
    if places.windows(2).all(|pair| pair[0] == pair[1]) {
        return Ok(());
    }
    Err(no_snapshot(places.len() - 1, "they lead to several servers"))
}

fn no_snapshot(connections: usize, reason: &str) -> HaulError {
    let what = format!("{connections} connections cannot share a snapshot: {reason}");
    refused(what, "grant RELOAD to the account, or use --connections 1").into()
}
