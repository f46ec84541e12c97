//! A row as a line that `LOAD DATA` reads.

use crate::table::{Found, quoted};
use xxhash_rust::xxh3::xxh3_128;

pub(super) const DELIMITER: u8 = b';';

/// What is asked of a table for these fields of a line; the column that it has not got, as an error.
pub(super) fn select(table: &Found, columns: &[String]) -> Result<String, String> {
    let part = |name: &String| {
        let found = table.columns.iter().find(|column| column.name == *name).ok_or_else(|| name.clone())?;
        // As text a FLOAT has six digits, which are not all.
        let more = if found.data_type == "float" { "+0e0" } else { "" };
        Ok(format!("{}{more}", quoted(name)))
    };
    let parts: Vec<String> = columns.iter().map(part).collect::<Result<_, String>>()?;
    Ok(format!("SELECT {} FROM {}", parts.join(", "), quoted(&table.name)))
}

/// Appends the line of a row, with its line feed. A value has no end of line in it: `\n` stands for one.
pub(super) fn put<'v, E>(
    values: impl Iterator<Item = Result<Option<&'v [u8]>, E>>,
    out: &mut Vec<u8>,
) -> Result<(), E> {
    let begin = out.len();
    for value in values {
        match value? {
            None => out.extend_from_slice(b"\\N"),
            Some(value) => escape(value, out),
        }
        out.push(DELIMITER);
    }
    if out.len() > begin {
        out.pop();
    }
    out.push(b'\n');
    Ok(())
}

fn escape(value: &[u8], out: &mut Vec<u8>) {
    let mut rest = value;
    while let Some(at) = rest.iter().position(|byte| matches!(byte, 0 | b'\n' | b'\r' | b'\\' | &DELIMITER)) {
        out.extend_from_slice(&rest[..at]);
        let letter = match rest[at] {
            0 => b'0',
            b'\n' => b'n',
            b'\r' => b'r',
            byte => byte,
        };
        out.extend_from_slice(&[b'\\', letter]);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// How many lines, and the sum of their hashes, which wraps: the same in whatever order, and another one where a line comes twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Checksum {
    pub rows: u64,
    pub sum: u128,
}

impl Checksum {
    pub fn add(&mut self, line: &[u8]) {
        self.rows += 1;
        self.sum = self.sum.wrapping_add(xxh3_128(line));
    }

    pub fn digits(self) -> String {
        format!("{:032x}", self.sum)
    }

    pub fn join(&mut self, other: Self) {
        self.rows += other.rows;
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_wire::record::Values;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn values_come_back_from_a_line(values in proptest::collection::vec(proptest::option::of(proptest::collection::vec(any::<u8>(), 0..9)), 1..5)) {
            let mut line = Vec::new();
            put(values.iter().map(|value| Ok::<_, ()>(value.as_deref())), &mut line).unwrap();
            prop_assert_eq!(line.pop(), Some(b'\n'));
            prop_assert!(!line.contains(&b'\n'));
            let again: Vec<_> = Values::new(&line, DELIMITER).map(Result::unwrap).collect();
            prop_assert_eq!(again, values);
        }
    }

    #[test]
    fn a_checksum_does_not_look_at_the_order_and_sees_what_comes_twice() {
        let of = |lines: &[&str]| {
            let mut sum = Checksum::default();
            lines.iter().for_each(|line| sum.add(line.as_bytes()));
            sum
        };
        assert_eq!(of(&["a", "b", "c"]), of(&["c", "a", "b"]));
        assert_ne!(of(&["a", "a", "b"]), of(&["b", "b", "b"]));
        assert_ne!(of(&["a", "a", "b"]).sum, of(&["b", "b", "b"]).sum, "an exclusive or would be the same");
    }
}
