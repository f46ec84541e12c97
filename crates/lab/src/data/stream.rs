//! A table's rows as a stream of bytes in LOAD DATA format, in the order of their key.

use super::set::{Generator, Key, Table};
use std::io;
use std::io::Read;

/// Bytes generated at a time: a fraction of the second-level cache, and thousands of times a row.
const BATCH_BYTES: usize = 64 * 1024;
/// Longest row (customer), rounded up.
const ROW_BYTES_MAX: usize = 2 * 1024;

/// The rows of a table: fields between tabs, a line feed after each row.
pub struct RowStream {
    generator: Generator,
    table: Table,
    keys: Box<dyn Iterator<Item = Key>>,
    content: Content,
    limit: u64,
    buffer: Vec<u8>,
    read: usize,
}

impl RowStream {
    pub fn new(generator: Generator, table: Table) -> Self {
        let (keys, content) = (generator.keys(table), Content::default());
        let buffer = Vec::with_capacity(BATCH_BYTES + ROW_BYTES_MAX);
        Self { generator, table, keys, content, limit: u64::MAX, buffer, read: 0 }
    }

    /// Ends the stream after so many rows from its start, until the limit is raised.
    pub fn limit(&mut self, rows: u64) {
        self.limit = rows;
    }

    pub fn content(&self) -> Content {
        self.content
    }

    /// Appends the next row to `out`, without line end; false after the last and at
    /// the limit.
    fn next_row(&mut self, out: &mut Vec<u8>) -> bool {
        if self.content.rows == self.limit {
            return false;
        }
        let Some((number, line)) = self.keys.next() else { return false };
        let start = out.len();
        self.generator.write(self.table, number, line, out);
        self.content.add_row(&out[start..]);
        true
    }

    fn refill(&mut self) {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        while buffer.len() < BATCH_BYTES && self.next_row(&mut buffer) {
            buffer.push(b'\n');
        }
        self.buffer = buffer;
        self.read = 0;
    }
}

impl Read for RowStream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.read == self.buffer.len() {
            self.refill();
        }
        let length = (&self.buffer[self.read..]).read(out)?;
        self.read += length;
        Ok(length)
    }
}

/// Rows of a table and the sum of the CRC-32 of each.
///
/// The CRC-32 (zlib's polynomial) is that of the row's fields joined by tabs, which a server computes as
/// `CRC32(CONCAT_WS('\t', ...))`, so generated rows can be compared with stored ones without moving them.
/// A sum does not depend on the order of the rows. It is a sum and not an exclusive or, because that
/// one misses two rows of equal length that swap fields: a CRC is linear.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Content {
    pub rows: u64,
    /// Sum of CRC-32 over rows; below 2^63 for any table that fits.
    pub crc_sum: u64,
}

impl Content {
    /// Counts a row in, given without line end.
    pub fn add_row(&mut self, row: &[u8]) {
        self.rows += 1;
        self.crc_sum += u64::from(crc32fast::hash(row));
    }

    pub fn merge(&mut self, other: Self) {
        self.rows += other.rows;
        self.crc_sum += other.crc_sum;
    }
}

/// One number for a whole data set: FNV-1a of `name rows crc_sum` of each table, one a line.
pub fn checksum(tables: &[(Table, Content)]) -> u64 {
    let text: String = tables
        .iter()
        .map(|(table, content)| format!("{table} {} {}\n", content.rows, content.crc_sum))
        .collect();
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::DataSet;
    use crate::data::tpcw::{Date, Scale, Table};
    use evenkeel_core::random::Seed;

    fn generator(seed: u64) -> Generator {
        DataSet::from(Scale::new(1, 100).unwrap()).generator(Seed(seed), Date::new(2026, 1, 15))
    }

    fn read(table: Table, seed: u64) -> (String, Content) {
        let mut stream = RowStream::new(generator(seed), table.into());
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        (text, stream.content())
    }

    #[test]
    fn a_stream_has_the_rows_of_its_table_in_key_order() {
        for (table, rows) in [(Table::Address, 5_760), (Table::Country, 92), (Table::ShoppingCart, 0)] {
            let (text, content) = read(table, 1);
            assert_eq!(content.rows, rows);
            let keys: Vec<u64> =
                text.lines().map(|row| row.split('\t').next().unwrap().parse().unwrap()).collect();
            assert_eq!(keys, (1..=rows).collect::<Vec<_>>(), "{table:?}");
        }
    }

    #[test]
    fn order_lines_are_sorted_by_line_and_order_and_number_what_the_orders_say() {
        let (text, content) = read(Table::OrderLine, 1);
        let keys: Vec<(u64, u64)> = text
            .lines()
            .map(|row| {
                let mut fields = row.split('\t').map(|field| field.parse().unwrap_or_default());
                (fields.next().unwrap(), fields.next().unwrap())
            })
            .collect();
        assert!(keys.is_sorted());
        let orders = Scale::new(1, 100).unwrap().orders();
        assert_eq!(content.rows, (1..=orders).map(|order| generator(1).lines(order)).sum::<u64>());
        assert_eq!(keys.iter().filter(|(line, _)| *line == 1).count() as u64, orders);
    }

    #[test]
    fn a_limit_cuts_a_stream_into_parts_that_make_up_the_whole() {
        let mut stream = RowStream::new(generator(1), Table::Author.into());
        let mut text = String::new();
        for limit in [7, 8, 25, 30] {
            stream.limit(limit);
            stream.read_to_string(&mut text).unwrap();
            assert_eq!(stream.content().rows, limit.min(25));
        }
        assert_eq!((text, stream.content()), read(Table::Author, 1));
    }

    #[test]
    fn the_rows_of_a_seed_never_change_within_a_generator_version() {
        let sums = Table::ALL.map(|table| read(table, 42).1.crc_sum);
        assert_eq!(
            sums,
            [
                12358909390264,
                52972865681,
                209669087975,
                6296574121108,
                205847402529,
                5577580279675,
                16578934904512,
                5649658973961,
                0,
                0
            ]
        );
    }

    fn content(rows: &[&[u8]]) -> Content {
        let mut content = Content::default();
        rows.iter().for_each(|row| content.add_row(row));
        content
    }

    #[test]
    fn a_row_counts_by_the_crc_of_its_bytes() {
        // CRC-32 of "123456789" is the check value of the polynomial.
        assert_eq!(content(&[b"123456789"]), Content { rows: 1, crc_sum: 0xcbf4_3926 });
    }

    #[test]
    fn order_and_parts_do_not_matter_but_every_byte_does() {
        let whole = content(&[b"1\ta", b"2\tb"]);
        let mut parts = content(&[b"2\tb"]);
        parts.merge(content(&[b"1\ta"]));
        assert_eq!(whole, parts);
        // An exclusive or would not see these two swap their second fields.
        assert_ne!(whole, content(&[b"1\tb", b"2\ta"]));
    }
}
