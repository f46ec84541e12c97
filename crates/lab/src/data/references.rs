//! Foreign keys, which come last: tables are filled, dumped and replaced without them.

use super::error::DataError;
use super::set::Table;
use evenkeel_site::server::Control;

/// Makes the references of these tables where they are missing. The rows are not looked through: they come from
/// the generator, or from tables that had the same references. An engine without foreign keys ignores it.
pub(super) fn add(control: &mut Control, tables: &[Table]) -> Result<(), DataError> {
    // What was cut short may have left some.
    drop_all(control, tables)?;
    control.exec("SET SESSION foreign_key_checks = 0")?;
    for sql in tables.iter().filter_map(|table| table.definition().create_references()) {
        control.exec(&sql)?;
    }
    control.exec("SET SESSION foreign_key_checks = 1")?;
    Ok(())
}

/// Drops the references of these tables that are there.
pub(super) fn drop_all(control: &mut Control, tables: &[Table]) -> Result<(), DataError> {
    for table in tables.iter().filter(|table| !table.definition().references.is_empty()) {
        let sql = format!(
            "SELECT constraint_name FROM information_schema.table_constraints \
             WHERE constraint_schema = DATABASE() AND table_name = '{table}' AND constraint_type = 'FOREIGN KEY'"
        );
        for name in control.query(&sql)?.rows.into_iter().flatten().flatten() {
            control.exec(&format!("ALTER TABLE `{table}` DROP FOREIGN KEY `{name}`"))?;
        }
    }
    Ok(())
}
