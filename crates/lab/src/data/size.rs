//! How big tables are at the server.

use super::error::DataError;
use evenkeel_site::server::Control;

/// Bytes of data and indexes of tables in the connection's default database, from fresh statistics
/// (ANALYZE TABLE needs INSERT and SELECT on them). InnoDB counts whole pages. A table that does not exist
/// is an error: a buffer pool in percent of nothing would go unnoticed.
pub fn tables_size(control: &mut Control, tables: &[&str]) -> Result<u64, DataError> {
    let mut bytes = 0;
    for table in tables {
        let name = table.replace('`', "``");
        control.query(&format!("ANALYZE TABLE `{name}`"))?;
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
