//! A small TPC-W database.

use evenkeel_core::random::Seed;
use evenkeel_lab::data::tpcw::{Date, Generator, Indexes, RowStream, Scale, Table};
use evenkeel_lab::target::Control;

/// One emulated browser, a thousand items.
pub fn scale() -> Scale {
    Scale::new(1, 1_000).unwrap()
}

/// Fills the default database.
pub fn populate(control: &mut Control) {
    let generator = Generator::new(scale(), Seed(1), Date::new(2024, 5, 1));
    for table in Table::ALL {
        let definition = table.definition();
        control.exec(&definition.create_table(table.name(), Indexes::Inline)).unwrap();
        let mut stream = RowStream::new(generator, table);
        let (mut row, mut values) = (Vec::new(), Vec::new());
        while stream.next_row(&mut row) {
            values.extend_from_slice(if values.is_empty() { b"" } else { b"," });
            definition.sql_values(&row, &mut values);
            row.clear();
            if values.len() > 1 << 20 {
                insert(control, table, &mut values);
            }
        }
        insert(control, table, &mut values);
        control.query(&format!("ANALYZE TABLE {table}")).unwrap();
    }
}

fn insert(control: &mut Control, table: Table, values: &mut Vec<u8>) {
    if !values.is_empty() {
        let sql = format!("INSERT INTO {table} VALUES {}", std::str::from_utf8(values).unwrap());
        control.exec(&sql).unwrap();
        values.clear();
    }
}
