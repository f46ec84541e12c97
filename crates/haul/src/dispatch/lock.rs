//! One dispatch of a source at a time.

use super::DispatchError;
use evenkeel_site::server::Control;
use xxhash_rust::xxh3::xxh3_64;

/// How long somebody else's dispatch of the same source is waited for, in seconds: as long as a statement may take to end whose
/// client was killed.
const LOCK_WAIT_S: u32 = 10;

/// Keeps others from the same table as long as this connection lasts.
pub(super) fn lock(control: &mut Control, table: &str) -> Result<(), DispatchError> {
    let name = name(control, table)?;
    let got = control.query_value(&format!("SELECT GET_LOCK('{name}', {LOCK_WAIT_S})"))?;
    if got.as_deref() == Some("1") {
        return Ok(());
    }
    let connection = control.query_value(&format!("SELECT IS_USED_LOCK('{name}')"))?.unwrap_or_default();
    Err(DispatchError::Busy { table: table.to_owned(), connection })
}

/// As short as names of locks are, which belong to the whole server.
fn name(control: &mut Control, table: &str) -> Result<String, DispatchError> {
    let database = control.query_value("SELECT DATABASE()")?.unwrap_or_default();
    Ok(format!("evenkeel_dispatch_{:016x}", xxh3_64(format!("{database}\0{table}").as_bytes())))
}
