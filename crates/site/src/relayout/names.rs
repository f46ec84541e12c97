//! How tables are called while one takes the place of another.

use crate::server::literal;

/// What stands behind the name of a table in that of its copy, until that is finished.
pub const COPY: &str = "_evenkeel_relayout";
/// What stands behind it in that of the old table once a copy has its place.
pub const BEFORE: &str = "_evenkeel_before";
const LONGEST: usize = 64;

/// The name of a table's copy, and that of the table once the copy has its place. Both sort behind the table's own: a renaming locks
/// tables in the order of their names, and one that waits has to wait for the table and for nothing else.
pub(super) fn beside(table: &str) -> (String, String) {
    (format!("{table}{COPY}"), format!("{table}{BEFORE}"))
}

/// Whether a table can have a copy beside it.
pub(super) fn has_room(table: &str) -> bool {
    table.chars().count() + COPY.chars().count() <= LONGEST
}

/// Whether a table is one of those.
pub(super) fn is_ours(table: &str) -> bool {
    table.ends_with(COPY) || table.ends_with(BEFORE)
}

pub(super) fn named(name: &str) -> String {
    format!("CONVERT({} USING utf8)", literal(name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_sorts_before_its_copy_and_itself_as_it_was() {
        for table in ["item", "a", "Z_", "zzz"] {
            let (copy, before) = beside(table);
            assert!(table < copy.as_str() && table < before.as_str() && is_ours(&copy) && is_ours(&before));
        }
        assert!(has_room(&"x".repeat(46)) && !has_room(&"x".repeat(47)));
    }
}
