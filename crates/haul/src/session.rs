//! What every connection needs that outlives a statement, whatever the server's own settings are.

use evenkeel_os::Stop;
use evenkeel_site::server::{Control, Target, TargetError};
use xxhash_rust::xxh3::xxh3_64;

/// Opens a connection that may idle as long as files are read, and whose statements are committed one by one.
pub(crate) fn connect(target: &Target, stop: &Stop) -> Result<Control, TargetError> {
    let mut control = Control::connect_until(target, stop)?;
    settle(&mut control)?;
    Ok(control)
}

/// Makes an open connection such a one. A lock of the server ends with its connection, and most locks are held by one that waits for
/// others: the server must not end it.
pub(crate) fn settle(control: &mut Control) -> Result<(), TargetError> {
    // No number is longer on any system; a month is more than any load takes.
    control.exec(
        "SET SESSION wait_timeout = 2147483, net_write_timeout = 86400, autocommit = 1, \
         completion_type = 0, unique_checks = 1, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
    )?;
    // Each is known to one of the two lines of servers, or to some of its versions.
    for name in [
        "max_statement_time",
        "max_execution_time",
        "idle_transaction_timeout",
        "idle_readonly_transaction_timeout",
        "idle_write_transaction_timeout",
    ] {
        match control.exec(&format!("SET SESSION {name} = 0")) {
            Err(TargetError::Statement { .. }) | Ok(_) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Keeps others from the same work on a table as long as the connection lasts; false where somebody else is at it for longer than so many
/// seconds. The name is as short as names of locks are, which belong to the whole server.
pub(crate) fn lock(control: &mut Control, work: &str, table: &str, wait_s: u32) -> Result<bool, TargetError> {
    let database = control.query_value("SELECT DATABASE()")?.unwrap_or_default();
    let hash = xxh3_64(format!("{database}\0{table}").as_bytes());
    let got = control.query_value(&format!("SELECT GET_LOCK('evenkeel_{work}_{hash:016x}', {wait_s})"))?;
    Ok(got.as_deref() == Some("1"))
}
