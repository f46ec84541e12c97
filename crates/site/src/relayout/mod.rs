//! A table is built anew in place by the server, so that its rows and indexes lie in the order of their keys.

mod facts;

use crate::server::{Control, Target, TargetError, quoted};
use evenkeel_os::stop::Stop;
use facts::named;
pub use facts::{Facts, RelayoutError, tables};
use serde::Serialize;

pub struct Relayout<'a> {
    pub target: &'a Target,
    /// Ends it early: the table is as it was then.
    pub stop: &'a Stop,
}

impl Relayout<'_> {
    /// Builds a table anew.
    ///
    /// # Errors
    /// Why it is refused, or what the server said. The table is as it was.
    pub fn run(&self, facts: &Facts, tell: &mut dyn FnMut(&str)) -> Result<Done, RelayoutError> {
        if let Some(error) = facts.refusal() {
            return Err(error);
        }
        if self.stop.is_set() {
            return Err(RelayoutError::Server(TargetError::Stopped));
        }
        let mut control = Control::connect_until(self.target, self.stop)?;
        prepare(&mut control)?;
        let done = run(&mut control, &facts.table, tell)?;
        // The statistics are of the old pages, and so would be the plans; a server that makes none now will later.
        let _ = control.query(&format!("ANALYZE TABLE {}", quoted(&facts.table)));
        Ok(done)
    }
}

// The server builds a table anew by itself.

/// Whom a relayout keeps waiting while it builds. At its end everybody waits for a moment, or for who is at the table then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Waits {
    /// Nobody, but for moments at the begin and the end.
    Nobody,
    /// Who writes to the table, all the time that it takes.
    Writers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Done {
    pub waits: Waits,
}

/// From the one that keeps nobody waiting to the one that any table allows.
const MANNERS: [(&str, &str, Waits); 3] = [
    ("INPLACE", "NONE", Waits::Nobody),
    ("INPLACE", "SHARED", Waits::Writers),
    ("COPY", "SHARED", Waits::Writers),
];

/// ER_ALTER_OPERATION_NOT_SUPPORTED, and the same with a reason: for a table like this one another manner has to be taken.
const NOT_SUPPORTED: [u16; 2] = [1845, 1846];

/// Whether it has a column that the server computes where a row is written, and does not where rows stay as they are.
fn has_stored(control: &mut Control, table: &str) -> Result<bool, RelayoutError> {
    let sql = format!(
        "SELECT 1 FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {} \
         AND EXTRA LIKE '%STORED GENERATED%' LIMIT 1",
        named(table)
    );
    Ok(control.query_value(&sql)?.is_some())
}

/// Has the server do it, in the first manner that it takes.
fn run(control: &mut Control, table: &str, tell: &mut dyn FnMut(&str)) -> Result<Done, RelayoutError> {
    let mut refused = RelayoutError::NoTable(table.to_owned());
    let computes = has_stored(control, table)?;
    for (algorithm, lock, waits) in MANNERS {
        if computes && algorithm == "COPY" {
            return Err(RelayoutError::Refused {
                table: table.to_owned(),
                what: "has a stored generated column, whose values a copy may change, and the server cannot \
                       rebuild it in place"
                    .to_owned(),
                hint: "drop what prevents the rebuild, such as a FULLTEXT index, and add it again afterwards",
            });
        }
        tell(&format!("rebuilding {table} (ALGORITHM={algorithm}, LOCK={lock})"));
        let sql = format!("ALTER TABLE {} FORCE, ALGORITHM={algorithm}, LOCK={lock}", quoted(table));
        match control.exec(&sql) {
            Ok(_) => return Ok(Done { waits }),
            Err(error) => {
                let is_other_manner = error.code().is_some_and(|code| NOT_SUPPORTED.contains(&code));
                refused = explained(error, table);
                if !is_other_manner {
                    break;
                }
            }
        }
    }
    Err(refused)
}

// The connection that a relayout works on.

/// Seconds that somebody else's transaction on a table is waited for.
const LOCK_WAIT_S: u32 = 60;
/// ER_LOCK_WAIT_TIMEOUT: somebody held the table for too long.
const TIMED_OUT: u16 = 1205;

/// Rows are taken as they are, also those that stricter settings would refuse today, and instants are told apart by UTC.
fn prepare(control: &mut Control) -> Result<(), TargetError> {
    control.exec(&format!(
        "SET SESSION lock_wait_timeout = {LOCK_WAIT_S}, sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES', \
         foreign_key_checks = 1, wait_timeout = 2147483, time_zone = '+00:00'"
    ))?;
    // MariaDB alone has it.
    match control.exec("SET SESSION check_constraint_checks = 0") {
        Err(TargetError::Statement { .. }) | Ok(_) => Ok(()),
        Err(error) => Err(error),
    }
}

/// A lock that did not come is told as what it is.
fn explained(error: TargetError, table: &str) -> RelayoutError {
    match error.code() {
        Some(TIMED_OUT) => RelayoutError::Held { table: table.to_owned(), seconds: LOCK_WAIT_S },
        _ => error.into(),
    }
}
