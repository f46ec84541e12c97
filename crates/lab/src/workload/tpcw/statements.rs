//! The statements of TPC-W: names, one line of help each, tables.

use super::sql::{Row, Sql};
use super::{reads, writes};

/// Every statement, at the index of its [`Sql`].
pub fn rows() -> impl Iterator<Item = &'static Row> {
    TABLES.iter().copied().flatten()
}

/// The statements of the mixes, at the index of their [`Sql`].
pub fn mix_rows() -> impl Iterator<Item = &'static Row> {
    rows().take(Sql::Commit as usize + 1)
}

static TABLES: [&[Row]; 5] = [&reads::ROWS, &writes::ROWS, &writes::CONTROL, &reads::ALONE, &writes::ALONE];

/// What is known of this statement.
pub fn row(sql: Sql) -> &'static Row {
    let mut index = sql as usize;
    for table in TABLES {
        match table.get(index) {
            Some(row) => return row,
            None => index -= table.len(),
        }
    }
    unreachable!("every statement has a row, as a test makes sure")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_stands_at_the_index_of_its_statement() {
        for (index, row) in rows().enumerate() {
            assert_eq!(row.sql as usize, index, "{}", row.name);
            assert_eq!(super::row(row.sql).name, row.name);
        }
        assert_eq!(rows().count(), Sql::Write as usize + 1);
    }

    #[test]
    fn names_are_unique_and_texts_have_no_stray_space() {
        let mut names: Vec<_> = rows().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), rows().count());
        for row in rows() {
            assert!(!row.text.contains("  ") && row.text.trim() == row.text, "{}", row.text);
            assert!(row.is_control() != row.name.starts_with("tpcw."), "{}", row.name);
        }
    }
}
