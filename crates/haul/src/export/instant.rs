//! Several connections that see one instant.

use super::ExportError;
use crate::HaulError;
use evenkeel_os::stop::Stop;
use evenkeel_site::server::{Control, Flavor, Target, TargetError};
use serde::{Deserialize, Serialize};

/// Tries to open connections between two commits, where no lock can be had.
const TRIES: usize = 10;

/// As of when tables were read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instant {
    /// The server's clock, UTC.
    pub at: String,
    /// How the connections came to one instant.
    pub how: How,
    /// Whether the table's engine keeps to it; without, rows that changed while they were read are as they were found.
    pub holds: bool,
    /// File and position of the binary log, where the server writes one and the account may see it.
    pub binlog: Option<(String, u64)>,
    /// Transactions up to then, as the server writes them, likewise.
    pub gtid: Option<String>,
}

/// How several connections came to one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// All writes were held back while they were opened.
    ReadLock,
    /// They were opened until all stood at one position of the binary log.
    BinlogPosition,
    /// There is one connection.
    OneConnection,
}

/// Opens connections that see their tables as of one instant.
pub(super) fn open(
    target: &Target,
    connections: usize,
    stop: &Stop,
) -> Result<(Vec<Control>, Instant), HaulError> {
    let mut all = Vec::new();
    for _ in 0..connections.max(1) {
        let mut control = Control::connect_until(target, stop)?;
        crate::audit::prepare(&mut control)?;
        control.exec("SET SESSION time_zone = '+00:00'")?;
        control.exec("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
        all.push(control);
    }
    if let [one] = all.as_mut_slice() {
        begin(one)?;
        let instant = describe(one, How::OneConnection)?;
        return Ok((all, instant));
    }
    let mut locks = Control::connect_until(target, stop)?;
    one_server(all.iter_mut().chain([&mut locks]))?;
    locks.exec("SET SESSION lock_wait_timeout = 30")?;
    // Nobody is to wait for long behind a statement that the lock itself waits for.
    match locks.exec("FLUSH TABLES WITH READ LOCK") {
        Ok(_) => {
            all.iter_mut().try_for_each(begin)?;
            let instant = describe(&mut locks, How::ReadLock)?;
            locks.exec("UNLOCK TABLES")?;
            Ok((all, instant))
        }
        Err(TargetError::Statement { message, .. }) => without_lock(all, stop, message),
        Err(error) => Err(error.into()),
    }
}

/// Refuses connections that lead to several servers, as behind a balancer: what one holds back the others do not.
fn one_server<'a>(all: impl Iterator<Item = &'a mut Control>) -> Result<(), HaulError> {
    let mut places = Vec::new();
    for control in all {
        places
            .push(control.query_value("SELECT CONCAT_WS(' ', @@hostname, @@port, @@server_id, @@datadir)")?);
    }
    if places.windows(2).all(|pair| pair[0] == pair[1]) {
        return Ok(());
    }
    let reason = "they lead to several servers".to_owned();
    Err(ExportError::Instant { connections: places.len(), reason }.into())
}

/// All connections begin again until they stand at one position of the binary log, which MariaDB says of each.
fn without_lock(
    mut all: Vec<Control>,
    stop: &Stop,
    message: String,
) -> Result<(Vec<Control>, Instant), HaulError> {
    let refused = |reason: String| ExportError::Instant { connections: all.len(), reason };
    let is_maria = all.first().is_some_and(|one| one.version().flavor == Flavor::MariaDb);
    if !is_maria {
        return Err(refused(message).into());
    }
    for _ in 0..TRIES {
        let mut places = Vec::new();
        for control in &mut all {
            begin(control)?;
            places.push(position(control)?);
        }
        match places.first() {
            Some(None) | None => {
                let reason = format!("{message}, and the server writes no binary log to tell them by");
                return Err(ExportError::Instant { connections: all.len(), reason }.into());
            }
            Some(first) if places.iter().all(|place| place == first) => {
                let place = first.clone();
                let mut instant = describe(&mut all[0], How::BinlogPosition)?;
                instant.binlog = place;
                return Ok((all, instant));
            }
            Some(_) if stop.is_set() => return Err(TargetError::Stopped.into()),
            Some(_) => {}
        }
    }
    let reason = format!("{message}, and something was committed between any two of them, {TRIES} times");
    Err(ExportError::Instant { connections: all.len(), reason }.into())
}

fn begin(control: &mut Control) -> Result<(), TargetError> {
    control.exec("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY").map(drop)
}

/// Position of the binary log that a connection's snapshot stands at; `None` where there is none.
fn position(control: &mut Control) -> Result<Option<(String, u64)>, TargetError> {
    let rows = control.query("SHOW STATUS LIKE 'binlog_snapshot_%'")?.rows;
    let value = |name: &str| {
        let row = rows
            .iter()
            .find(|row| row[0].as_deref().is_some_and(|found| found.eq_ignore_ascii_case(name)))?;
        row.get(1)?.clone().filter(|value| !value.is_empty())
    };
    let file = value("binlog_snapshot_file");
    Ok(file.zip(value("binlog_snapshot_position").and_then(|text| text.parse().ok())))
}

/// What the server says of now. Of the binary log it may say nothing, or not to everybody.
fn describe(control: &mut Control, how: How) -> Result<Instant, TargetError> {
    let at = control.query_value("SELECT UTC_TIMESTAMP(6)")?.unwrap_or_default();
    let maria = control.version().flavor == Flavor::MariaDb;
    let mut binlog = None;
    // One connection's snapshot was there before it is asked.
    let asks = if how == How::ReadLock { &["SHOW MASTER STATUS", "SHOW BINARY LOG STATUS"][..] } else { &[] };
    for sql in asks {
        if let Some(rows) = told(control.query(sql))? {
            let row = rows.rows.first();
            let value = |index: usize| row.and_then(|row| row.get(index)?.clone());
            binlog = value(0).zip(value(1).and_then(|text| text.parse().ok()));
            break;
        }
    }
    if binlog.is_none() && maria && how != How::ReadLock {
        binlog = position(control)?;
    }
    let gtid = match how {
        How::ReadLock => {
            let name = if maria { "@@global.gtid_binlog_pos" } else { "@@global.gtid_executed" };
            told(control.query_value(&format!("SELECT {name}")))?.flatten().filter(|gtid| !gtid.is_empty())
        }
        _ => None,
    };
    Ok(Instant { at, how, holds: true, binlog, gtid })
}

/// `None` where the server refuses to say.
fn told<T>(answer: Result<T, TargetError>) -> Result<Option<T>, TargetError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(TargetError::Statement { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
