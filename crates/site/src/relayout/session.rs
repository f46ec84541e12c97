//! The connection that a relayout works on.

use super::RelayoutError;
use crate::server::{Control, TargetError};

/// Seconds that somebody else's transaction on a table is waited for.
const LOCK_WAIT_S: u32 = 60;
/// ER_LOCK_WAIT_TIMEOUT: somebody held the table for too long.
const TIMED_OUT: u16 = 1205;

/// Rows are taken as they are, also those that stricter settings would refuse today, and instants are told apart by UTC.
pub(super) fn prepare(control: &mut Control) -> Result<(), TargetError> {
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
pub(super) fn explained(error: TargetError, table: &str) -> RelayoutError {
    match error.code() {
        Some(TIMED_OUT) => RelayoutError::Held { table: table.to_owned(), seconds: LOCK_WAIT_S },
        _ => error.into(),
    }
}
