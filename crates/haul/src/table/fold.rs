//! Names of tables as the server tells them apart.

use evenkeel_site::server::{Control, TargetError};

/// A table's name as the server knows it: in small letters where it takes `Calls` and `calls` for one table. By this name the
/// manifest, the journal and their locks know it, so that no spelling makes a second table of it.
pub(crate) fn folded(control: &mut Control, name: &str) -> Result<String, TargetError> {
    let found = control.query_value("SELECT @@lower_case_table_names")?;
    Ok(match found.as_deref() {
        None | Some("0") => name.to_owned(),
        Some(_) => name.to_lowercase(),
    })
}
