//! A stream of bytes in blocks that end where a record ends.

use memchr::memrchr;
use std::io::{self, Read};

/// Bytes of a block, about: large enough that handing over costs nothing, small enough that many fit into a cache.
pub const BLOCK: usize = if cfg!(test) { 1 << 16 } else { 1 << 20 };
/// A record that is longer than this is cut in pieces of half of it, and one that is longer than half: no layout has such records, so that
/// each piece is refused.
const LONGEST: usize = if cfg!(test) { 8 * BLOCK } else { 4 << 20 };
/// The same of a line of rejects, which holds a piece with its escapes, of up to four bytes for one, and a reason.
const LONGEST_REJECT: usize = 8 * LONGEST;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    /// By a line feed, with a carriage return before it or without.
    Line,
    /// By nothing: every record has this many bytes.
    Length(usize),
}

pub struct Blocks<R> {
    stream: R,
    separator: Separator,
    /// Bytes of a record at which it is cut.
    longest: usize,
    /// Of the stream, where the next block begins.
    offset: u64,
    /// What was read beyond the last block.
    carry: Vec<u8>,
    ended: bool,
}

impl<R: Read> Blocks<R> {
    pub fn new(stream: R, separator: Separator, offset: u64) -> Self {
        Self { stream, separator, longest: LONGEST, offset, carry: Vec::new(), ended: false }
    }

    /// Of a file of rejects, whose lines are never cut.
    pub fn of_rejects(stream: R) -> Self {
        Self { longest: LONGEST_REJECT, ..Self::new(stream, Separator::Line, 0) }
    }

    /// Fills `into` with the next block and says at which offset it begins; `None` at the end. What stood in `into` before is written
    /// over, so that its memory need not be made zero for every block.
    pub fn next(&mut self, into: &mut Vec<u8>) -> io::Result<Option<u64>> {
        let mut filled = self.carry.len();
        into.resize(filled.max(BLOCK), 0);
        into[..filled].copy_from_slice(&self.carry);
        let end = loop {
            filled += self.read_full(&mut into[filled..])?;
            match self.end_of_records(&into[..filled]) {
                _ if self.ended => break filled,
                Some(end) => break end,
                // What is left must not look like a record of its own, so that more than any layout has stays of the line.
                None if filled >= self.longest => break self.longest / 2,
                None => into.resize(filled + BLOCK, 0),
            }
        };
        self.carry.clear();
        self.carry.extend_from_slice(&into[end..filled]);
        into.truncate(end);
        let offset = self.offset;
        self.offset += end as u64;
        Ok((end > 0).then_some(offset))
    }

    /// Reads until all of it is full or the stream ends; says how much of it is.
    fn read_full(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < into.len() && !self.ended {
            match self.stream.read(&mut into[filled..]) {
                Ok(0) => self.ended = true,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    fn end_of_records(&self, bytes: &[u8]) -> Option<usize> {
        let end = match self.separator {
            Separator::Line => memrchr(b'\n', bytes).map_or(0, |place| place + 1),
            Separator::Length(length) => bytes.len() - bytes.len() % length.max(1),
        };
        (end > 0).then_some(end)
    }
}

/// The records of a block with their offsets in it, without their line ends.
pub fn records(block: &[u8], separator: Separator) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = block.get(at..).filter(|rest| !rest.is_empty())?;
        let (record, whole) = match separator {
            Separator::Line => match memchr::memchr(b'\n', rest) {
                Some(end) => (&rest[..end], end + 1),
                None => (rest, rest.len()),
            },
            Separator::Length(length) => {
                let end = length.clamp(1, rest.len());
                (&rest[..end], end)
            }
        };
        let start = at;
        at += whole;
        let record = match separator {
            Separator::Line => record.strip_suffix(b"\r").unwrap_or(record),
            Separator::Length(_) => record,
        };
        Some((start, record))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(bytes: &[u8], separator: Separator) -> Vec<(u64, Vec<u8>)> {
        let (mut blocks, mut block, mut found) = (Blocks::new(bytes, separator, 0), Vec::new(), Vec::new());
        while let Some(offset) = blocks.next(&mut block).unwrap() {
            found
                .extend(records(&block, separator).map(|(at, record)| (offset + at as u64, record.to_vec())));
        }
        found
    }

    #[test]
    fn a_line_that_is_longer_than_a_block_is_one_record() {
        let mut bytes = vec![b'x'; 3 * BLOCK];
        bytes.extend(b"\nshort\r\nlast");
        let found = all(&bytes, Separator::Line);
        let lengths: Vec<_> = found.iter().map(|(offset, record)| (*offset, record.len())).collect();
        let first = 3 * BLOCK as u64;
        assert_eq!(lengths, [(0, 3 * BLOCK), (first + 1, 5), (first + 8, 4)]);
    }

    #[test]
    fn a_stream_without_an_end_of_line_costs_a_bounded_memory() {
        let mut blocks = Blocks::new(io::repeat(b'x'), Separator::Line, 0);
        let mut block = Vec::new();
        assert_eq!(blocks.next(&mut block).unwrap(), Some(0));
        assert!(block.len() <= LONGEST + BLOCK);
        assert_eq!(blocks.next(&mut block).unwrap(), Some(LONGEST as u64 / 2));
    }

    #[test]
    fn no_piece_of_a_line_that_is_too_long_is_as_short_as_a_record() {
        for length in [LONGEST - 1, LONGEST, LONGEST + 199, 2 * LONGEST + 199, 5 * LONGEST / 2] {
            let mut bytes = vec![b'x'; length];
            bytes.extend(b"\nshort\n");
            let found = all(&bytes, Separator::Line);
            let (last, pieces) = found.split_last().expect("the short one");
            assert_eq!((last.0, last.1.len()), (length as u64 + 1, 5));
            assert!(pieces.iter().all(|(_, piece)| piece.len() >= LONGEST / 2), "{length}");
            assert_eq!(pieces.iter().map(|(_, piece)| piece.len()).sum::<usize>(), length);
        }
    }

    #[test]
    fn records_of_one_length_need_no_line_ends() {
        let found = all(b"aabbc", Separator::Length(2));
        assert_eq!(found, [(0, b"aa".to_vec()), (2, b"bb".to_vec()), (4, b"c".to_vec())]);
    }

    proptest! {
        #[test]
        fn every_byte_lies_in_one_record_or_parts_two(text in "[ab\r\n]{0,60}") {
            let found = all(text.as_bytes(), Separator::Line);
            let mut plain: Vec<&str> = text.split('\n').collect();
            if plain.last() == Some(&"") { plain.pop(); }
            let expected: Vec<String> = plain.iter().map(|line| line.strip_suffix('\r').unwrap_or(line).to_owned()).collect();
            prop_assert_eq!(found.into_iter().map(|(_, record)| String::from_utf8(record).unwrap()).collect::<Vec<_>>(), expected);
        }
    }
}
