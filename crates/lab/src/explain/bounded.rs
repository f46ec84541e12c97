//! Reads are made so that they leave nothing behind and do not last: in a transaction that cannot write and is rolled back, and
//! within a time.

use super::{ExplainError, Result};
use crate::workload::sql::{Act, Purpose, acts};
use evenkeel_site::server::{Control, Flavor, TargetError};

/// Longest time of one execution of a read, and of what a plan executes, in seconds.
pub const EXECUTION_MAX_S: u32 = 10;

/// The server's error ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION.
const READ_ONLY: u16 = 1792;
/// ER_STATEMENT_TIMEOUT of MariaDB, ER_QUERY_TIMEOUT of MySQL.
const TIMED_OUT: [u16; 2] = [1969, 3024];

/// Has the server end what takes longer than so many seconds, or than its default.
pub fn limit(control: &mut Control, seconds: Option<u32>) -> Result<(), TargetError> {
    let (name, unit) = match control.version().flavor {
        Flavor::MariaDb => ("max_statement_time", 1),
        Flavor::MySql => ("max_execution_time", 1_000),
    };
    let value = seconds.map_or("DEFAULT".to_owned(), |seconds| (unit * seconds).to_string());
    control.exec(&format!("SET SESSION {name} = {value}")).map(drop)
}

/// Does something about a statement in a transaction of its own that is rolled back, and that cannot write where it is about a
/// read: a server executes derived tables for a plan alone, and functions in them may write.
///
/// What locks rows is explained where it may write, since no read-only transaction takes it; so is what writes by its own text
/// where no second SELECT can be executed for its plan.
pub fn rolled_back<T>(
    control: &mut Control,
    (sql, purpose): (&str, Purpose),
    what: impl FnOnce(&mut Control) -> Result<T>,
) -> Result<T> {
    let may_write = match (purpose, acts(sql)) {
        (Purpose::Read, (Some(Act::Locks(_)), _) | (Some(_), 1)) => true,
        (purpose, _) => purpose != Purpose::Read,
    };
    control.exec(if may_write { "START TRANSACTION" } else { "START TRANSACTION READ ONLY" })?;
    let found = what(control);
    let rolled_back = control.exec("ROLLBACK");
    let found = found?;
    rolled_back?;
    Ok(found)
}

/// Why the bounds ended a statement; `None` where something else did.
pub fn why_ended(error: &ExplainError) -> Option<String> {
    let (ExplainError::Plan { source, .. } | ExplainError::Execute { source, .. }) = error else {
        return None;
    };
    match source.code()? {
        READ_ONLY => Some(
            "it writes, or calls something that writes, which a read-only transaction does not allow"
                .to_owned(),
        ),
        code if TIMED_OUT.contains(&code) => Some(format!("it takes longer than {EXECUTION_MAX_S} s")),
        _ => None,
    }
}
