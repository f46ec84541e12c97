//! How big tables are at the server.

use super::session::{DataError, Result};
use evenkeel_site::server::Control;

/// Bytes of data and indexes of tables in the connection's default database, by the server's statistics. `fresh` renews them before
/// (ANALYZE TABLE needs INSERT and SELECT): a server of others may change its plans by that. InnoDB counts whole pages. A table that does not exist
/// is an error: a buffer pool in percent of nothing would go unnoticed.
pub fn tables_size(control: &mut Control, tables: &[&str], fresh: bool) -> Result<u64> {
    let mut bytes = 0;
    for table in tables {
        let name = table.replace('`', "``");
        if fresh {
            control.query(&format!("ANALYZE TABLE `{name}`"))?;
        }
        let literal = table.replace('\\', "\\\\").replace('\'', "''");
        let sql = format!(
            "SELECT data_length + index_length FROM information_schema.tables \
             WHERE table_schema = DATABASE() AND table_name = '{literal}'"
        );
        let size = control.query_value(&sql)?.and_then(|text| text.parse::<u64>().ok());
        bytes += size.ok_or_else(|| DataError::NoTable((*table).to_owned()))?;
    }
    Ok(bytes)
}
