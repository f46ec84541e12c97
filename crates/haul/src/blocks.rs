//! A stream of bytes in blocks that end where a record ends.

use evenkeel_wire::record::Dialect;
use memchr::memrchr;
use std::io::{self, Read};
use xxhash_rust::xxh3::xxh3_64;

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
    /// By a line feed that is in no quotes.
    Delimited { dialect: Dialect, header: Header },
}

/// What the first line of a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// A record.
    None,
    /// Names of columns, which nobody looks at.
    Any,
    /// This line, by its XXH3: in a file with other columns values would go to the wrong places.
    Is(u64),
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
                // Of a quote that does not end, the line.
                None if filled >= self.longest => break self.line(&into[..self.longest / 2]),
                None => into.resize(filled + BLOCK, 0),
            }
        };
        self.carry.clear();
        self.carry.extend_from_slice(&into[end..filled]);
        into.truncate(end);
        let offset = self.offset;
        self.offset += end as u64;
        if offset > 0 || end == 0 {
            return Ok((end > 0).then_some(offset));
        }
        let head = head(into, self.separator).map_err(io::Error::other)?;
        into.drain(..head);
        if into.is_empty() { self.next(into) } else { Ok(Some(head as u64)) }
    }

    fn line(&self, bytes: &[u8]) -> usize {
        let is_delimited = matches!(self.separator, Separator::Delimited { .. });
        memchr::memchr(b'\n', bytes).filter(|_| is_delimited).map_or(bytes.len(), |end| end + 1)
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
            Separator::Delimited { dialect, .. } => {
                let mut end = 0;
                while let Some(length) = dialect.record_end(&bytes[end..]) {
                    end += length;
                }
                end
            }
        };
        (end > 0).then_some(end)
    }
}

/// Bytes at the beginning of a file that are no record: a byte order mark, a header.
/// Errors: it is no text with lines, with what it is.
fn head(block: &[u8], separator: Separator) -> Result<usize, String> {
    if matches!(separator, Separator::Length(_)) {
        return Ok(0);
    }
    if let Some(what) = foreign(block) {
        return Err(what.to_owned());
    }
    let mark = if block.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let Separator::Delimited { header, dialect } = separator else { return Ok(mark) };
    let (at, line) = records(&block[mark..], separator).next().unwrap_or_default();
    let end = mark + at + line.len();
    let whole = memchr::memchr(b'\n', &block[end..]).map_or(block.len(), |feed| end + feed + 1);
    match header {
        Header::None => Ok(mark),
        Header::Is(hash) if hash != xxh3_64(line) => Err(format!(
            "its header is not that of the layout: {}",
            String::from_utf8_lossy(&line[..line.len().min(200)])
        )),
        Header::Any if !line.is_empty() && dialect.cells(line).count() == 1 => Err(format!(
            "the layout says that the first line is a header, and it has only one field (another delimiter?): {}",
            String::from_utf8_lossy(&line[..line.len().min(200)])
        )),
        Header::Any | Header::Is(_) => Ok(whole),
    }
}

/// Beginnings of files that are packed in a way that is not read.
const PACKED: [(&[u8], &str); 3] = [
    (b"PK\x03\x04", "it is a zip archive: unzip -p it to a file"),
    (b"BZh", "it is packed by bzip2: bunzip2 it"),
    (b"\xfd7zXZ\0", "it is packed by xz: unxz it"),
];

/// What the first bytes of a file are that is no text with line feeds.
fn foreign(block: &[u8]) -> Option<&'static str> {
    let start = &block[..block.len().min(4096)];
    if let Some((_, what)) = PACKED.iter().find(|(mark, _)| block.starts_with(mark)) {
        return Some(what);
    }
    let count = |is: &dyn Fn(usize, u8) -> bool| {
        start.iter().enumerate().filter(|(at, byte)| is(*at, **byte)).count()
    };
    let odd = count(&|at, byte| byte == 0 && at % 2 == 1);
    let even = count(&|at, byte| byte == 0 && at % 2 == 0);
    // Padding by NUL is at both.
    if odd * 4 > start.len() && even == 0 {
        return Some("it is UTF-16 without a byte order mark: iconv -f UTF-16LE -t UTF-8");
    }
    if even * 4 > start.len() && odd == 0 {
        return Some("it is UTF-16 without a byte order mark: iconv -f UTF-16BE -t UTF-8");
    }
    if block.contains(&b'\n') {
        return None;
    }
    let ebcdic =
        count(&|_, byte| matches!(byte, 0x40 | 0x15 | 0x25 | 0x4b..=0x6f | 0x81..=0xa9 | 0xc1..=0xf9));
    if start.len() >= 16 && ebcdic * 10 > start.len() * 9 && count(&|_, byte| byte >= 0xf0) > 0 {
        return Some("it is EBCDIC: iconv -f IBM1047 -t UTF-8");
    }
    block.contains(&b'\r').then_some("its lines end with CR alone: tr '\\r' '\\n'")
}

/// The records of a block with their offsets in it, without their line ends. Among fields with delimiters a blank line is none.
pub fn records(block: &[u8], separator: Separator) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    let all = std::iter::from_fn(move || {
        let rest = block.get(at..).filter(|rest| !rest.is_empty())?;
        let (record, whole) = match separator {
            Separator::Line => match memchr::memchr(b'\n', rest) {
                Some(end) => (&rest[..end], end + 1),
                None => (rest, rest.len()),
            },
            Separator::Delimited { dialect, .. } => match dialect.record_end(rest) {
                Some(whole) => (&rest[..whole - 1], whole),
                // A quote that does not end takes its line alone.
                None => memchr::memchr(b'\n', rest).map_or((rest, rest.len()), |end| (&rest[..end], end + 1)),
            },
            Separator::Length(length) => {
                let end = length.clamp(1, rest.len());
                (&rest[..end], end)
            }
        };
        let start = at;
        at += whole;
        let record = match separator {
            Separator::Line | Separator::Delimited { .. } => record.strip_suffix(b"\r").unwrap_or(record),
            Separator::Length(_) => record,
        };
        Some((start, record))
    });
    all.filter(move |(_, record)| !(record.is_empty() && matches!(separator, Separator::Delimited { .. })))
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
    fn quotes_hold_line_ends_and_a_mark_and_a_header_are_no_records() {
        let dialect = Dialect { delimiter: b',', quote: Some(b'"'), escape: None };
        let of = |header| Separator::Delimited { dialect, header };
        let text = b"\xef\xbb\xbfa,b\r\n1,\"x\ny\"\r\n2,z";
        let below = [(8, b"1,\"x\ny\"".to_vec()), (17, b"2,z".to_vec())];
        assert_eq!(all(text, of(Header::Any)), below);
        assert_eq!(all(text, of(Header::Is(xxh3_64(b"a,b")))), below);
        assert_eq!(all(text, of(Header::None))[0], (3, b"a,b".to_vec()));
        let mut other = Blocks::new(&text[..], of(Header::Is(xxh3_64(b"b,a"))), 0);
        assert!(other.next(&mut Vec::new()).unwrap_err().to_string().ends_with("that of the layout: a,b"));
        assert_eq!(all(b"a,b\n", of(Header::Any)), []);
    }

    #[test]
    fn what_is_no_text_with_line_feeds_is_named() {
        let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>();
        let ebcdic = [0xf1, 0xf2, 0xf3, 0x40, 0xc1, 0xc2, 0x40, 0xf1, 0xf2, 0x15].repeat(4);
        for (bytes, what) in [
            (utf16("12;ab\n13;cd\n"), "UTF-16BE"),
            (ebcdic, "EBCDIC"),
            (b"12;ab\r13;cd\r".to_vec(), "CR alone"),
        ] {
            let failed = Blocks::new(&bytes[..], Separator::Line, 0).next(&mut Vec::new()).unwrap_err();
            assert!(failed.to_string().contains(what), "{failed}");
        }
        assert_eq!(all(b"12\0\0\0\0\0\0\n", Separator::Line).len(), 1, "padding is refused record by record");
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
            // Lines that end with CR alone are refused.
            prop_assume!(text.contains('\n') || !text.contains('\r'));
            let found = all(text.as_bytes(), Separator::Line);
            let mut plain: Vec<&str> = text.split('\n').collect();
            if plain.last() == Some(&"") { plain.pop(); }
            let expected: Vec<String> = plain.iter().map(|line| line.strip_suffix('\r').unwrap_or(line).to_owned()).collect();
            prop_assert_eq!(found.into_iter().map(|(_, record)| String::from_utf8(record).unwrap()).collect::<Vec<_>>(), expected);
        }
    }
}
