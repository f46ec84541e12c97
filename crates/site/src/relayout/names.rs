//! How tables are called while one takes the place of another.

use super::RelayoutError;

/// What the name of a copy begins with that is not finished.
pub const COPY: &str = "evenkeel_relayout_";
/// What the name of a table begins with whose place a copy has taken.
pub const BEFORE: &str = "evenkeel_before_";
/// Characters of a name at most.
const LONGEST: usize = 64;

/// The name of a table's copy, and that of the table once the copy has its place.
pub(super) fn beside(table: &str) -> Result<(String, String), RelayoutError> {
    let (copy, before) = (format!("{COPY}{table}"), format!("{BEFORE}{table}"));
    match copy.chars().count() <= LONGEST {
        true => Ok((copy, before)),
        false => Err(RelayoutError::Refused {
            table: table.to_owned(),
            what: "has a name too long for a copy beside it".to_owned(),
            hint: "relayout it in place (without --fresh)",
        }),
    }
}

/// A name for a statement.
pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A text for a statement.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}
