//! A file of an export that is read once, and is looked at while it is.

use super::line::Checksum;
use super::manifest::{Exported, digits};
use std::io::{self, Read};

/// Reads a file and ends by an error where it is not what was exported, so that the server takes back what it was sent.
pub(super) struct Checked<'a, R> {
    stream: R,
    expected: &'a Exported,
    found: Checksum,
    bytes: u64,
    /// The line that is not at its end yet.
    line: Vec<u8>,
}

impl<'a, R: Read> Checked<'a, R> {
    pub fn new(stream: R, expected: &'a Exported) -> Self {
        Self { stream, expected, found: Checksum::default(), bytes: 0, line: Vec::new() }
    }

    fn take(&mut self, mut piece: &[u8]) {
        self.bytes += piece.len() as u64;
        while let Some(end) = memchr::memchr(b'\n', piece) {
            self.line.extend_from_slice(&piece[..end]);
            self.found.add(&self.line);
            self.line.clear();
            piece = &piece[end + 1..];
        }
        self.line.extend_from_slice(piece);
    }

    fn judge(&self) -> io::Result<()> {
        let Self { expected, found, .. } = self;
        let is_same = self.line.is_empty()
            && self.bytes == expected.bytes
            && found.rows == expected.rows
            && digits(*found) == expected.checksum;
        match is_same {
            true => Ok(()),
            false => Err(io::Error::other(format!("{} is not what was exported any more", expected.name))),
        }
    }
}

impl<R: Read> Read for Checked<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(into)?;
        if count == 0 && !into.is_empty() {
            self.judge()?;
        }
        // What is longer than was exported is not kept in memory.
        if self.bytes + count as u64 > self.expected.bytes {
            return Err(io::Error::other(format!("{} is longer than what was exported", self.expected.name)));
        }
        self.take(&into[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exported(text: &[u8]) -> Exported {
        let mut sum = Checksum::default();
        text.split_inclusive(|byte| *byte == b'\n').for_each(|line| sum.add(&line[..line.len() - 1]));
        let (name, bytes) = ("a.0001.csv".to_owned(), text.len() as u64);
        Exported { name, rows: sum.rows, bytes, checksum: digits(sum), keys: None }
    }

    #[test]
    fn a_file_comes_through_as_it_was_and_ends_by_an_error_where_it_is_another_one() {
        let text = b"1;a\n2;b\n";
        let expected = exported(text);
        let read = |bytes: &[u8]| {
            let mut out = Vec::new();
            Checked::new(bytes, &expected).read_to_end(&mut out).map(|_| out)
        };
        assert_eq!(read(text).unwrap(), text);
        assert_eq!(read(b"2;b\n1;a\n").unwrap(), b"2;b\n1;a\n", "the order is not looked at");
        for other in [&b"1;a\n2;c\n"[..], b"1;a\n2;b", b"1;a\n", b"1;a\n2;b\n3;c\n"] {
            assert!(read(other).is_err(), "{other:?}");
        }
    }
}
