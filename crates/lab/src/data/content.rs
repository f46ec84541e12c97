//! What a table holds, as a few numbers that the generator and the server can both compute.

use super::set::Table;

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
