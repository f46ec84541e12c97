//! How delimited records are read: fields parted by a mark, quoted where they hold it or a line end.

use super::What;
use memchr::{memchr, memchr2};
use std::borrow::Cow;

/// A value, or why there is none.
type Cell<'a> = Result<Cow<'a, [u8]>, What>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    pub delimiter: u8,
    /// Stands before and behind a value that may hold delimiters and line ends; two of it within stand for one.
    pub quote: Option<u8>,
    /// Before a byte that stands for itself.
    pub escape: Option<u8>,
}

impl Dialect {
    /// Bytes of the first record, its line feed included; `None` where the record does not end here. One with something behind a quote that
    /// ends is its first line, so that a quote too many takes no other record with it.
    pub fn record_end(&self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        loop {
            if self.quote.is_some() && bytes.get(at).copied() == self.quote {
                let end = self.closing(bytes, at + 1)? + 1;
                if bytes.get(end).is_some_and(|next| *next != self.delimiter && !b"\r\n".contains(next)) {
                    return memchr(b'\n', &bytes[at..]).map(|line| at + line + 1);
                }
                at = end;
            }
            at += self.stop(&bytes[at..])?;
            if bytes[at] == b'\n' {
                return Some(at + 1);
            }
            at += 1;
        }
    }

    /// The values of a record, which comes without its line end.
    pub fn cells<'a>(&self, record: &'a [u8]) -> impl Iterator<Item = Cell<'a>> + use<'a> {
        let (dialect, mut rest) = (*self, Some(record));
        std::iter::from_fn(move || {
            let (cell, left) = dialect.cell(rest?);
            rest = left;
            Some(cell)
        })
    }

    fn cell<'a>(&self, rest: &'a [u8]) -> (Cell<'a>, Option<&'a [u8]>) {
        let (value, end) = match rest.split_first() {
            Some((first, inside)) if Some(*first) == self.quote => match self.closing(inside, 0) {
                Some(end) => (self.plain(&inside[..end], self.quote), end + 2),
                None => return (Err(What::Quote), None),
            },
            _ => {
                let end = self.stop(rest).unwrap_or(rest.len());
                (self.plain(&rest[..end], None), end)
            }
        };
        let left = match rest.get(end) {
            None => None,
            Some(mark) if *mark == self.delimiter => Some(&rest[end + 1..]),
            Some(_) => return (Err(What::Quote), None),
        };
        (Ok(value), left)
    }

    /// Where the next delimiter or line feed is that no escape stands before.
    fn stop(&self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        loop {
            let found = memchr2(self.delimiter, b'\n', &bytes[at..])?;
            let Some(escape) = self.escape.and_then(|escape| memchr(escape, &bytes[at..at + found])) else {
                return Some(at + found);
            };
            at += escape + 2;
            if at > bytes.len() {
                return None;
            }
        }
    }

    /// Where the quote is that ends a value which is quoted, from a place within it on.
    fn closing(&self, bytes: &[u8], mut at: usize) -> Option<usize> {
        let quote = self.quote?;
        loop {
            at += memchr2(quote, self.escape.unwrap_or(quote), bytes.get(at..)?)?;
            match bytes.get(at + 1) {
                _ if Some(bytes[at]) == self.escape && self.escape != self.quote => at += 2,
                Some(next) if *next == quote => at += 2,
                _ => return Some(at),
            }
        }
    }

    /// A value without its escapes, and with one quote for two where it is quoted.
    fn plain<'a>(&self, value: &'a [u8], quote: Option<u8>) -> Cow<'a, [u8]> {
        let is_mark = |byte: &u8| Some(*byte) == quote || Some(*byte) == self.escape;
        if !value.iter().any(is_mark) {
            return Cow::Borrowed(value);
        }
        let (mut out, mut bytes) = (Vec::with_capacity(value.len()), value.iter());
        while let Some(byte) = bytes.next() {
            out.push(if is_mark(byte) { *bytes.next().unwrap_or(byte) } else { *byte });
        }
        Cow::Owned(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CSV: Dialect = Dialect { delimiter: b',', quote: Some(b'"'), escape: None };

    fn cells(dialect: Dialect, record: &str) -> Result<Vec<String>, What> {
        let text = |cell: Result<Cow<'_, [u8]>, What>| Ok(String::from_utf8_lossy(&cell?).into_owned());
        dialect.cells(record.as_bytes()).map(text).collect()
    }

    #[test]
    fn quotes_hold_delimiters_line_ends_and_doubled_quotes() {
        let record = "a,\"b,c\",\"d\ne\",\"say \"\"no\"\"\",,\"\",5\" disk\nnext";
        let end = CSV.record_end(record.as_bytes()).expect("a record");
        assert_eq!(&record[end..], "next");
        let found = cells(CSV, &record[..end - 1]).expect("cells");
        assert_eq!(found, ["a", "b,c", "d\ne", "say \"no\"", "", "", "5\" disk"]);
        assert_eq!(cells(CSV, "").expect("one"), [""]);
    }

    #[test]
    fn an_escape_stands_before_what_would_part_or_end() {
        let of = Dialect { delimiter: b'|', quote: Some(b'\''), escape: Some(b'\\') };
        assert_eq!(cells(of, "a\\|b|'c\\'d'|e\\\\").expect("cells"), ["a|b", "c'd", "e\\"]);
        assert_eq!(of.record_end(b"a\\\nb\nc"), Some(5));
    }

    #[test]
    fn a_quote_that_does_not_end_or_has_something_behind_it_is_none() {
        for record in ["\"a", "\"a\"b,c", "\"a\" ,b"] {
            assert_eq!(cells(CSV, record), Err(What::Quote), "{record}");
        }
        assert_eq!(CSV.record_end(b"a,\"b\nc"), None);
        assert_eq!(CSV.record_end(b"a,\"b\nc,\"d\"\n"), Some(5));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(values in prop::collection::vec("[a,\"\n ]{0,6}", 1..6)) {
            let quoted: Vec<String> = values.iter().map(|value| format!("\"{}\"", value.replace('"', "\"\""))).collect();
            let line = quoted.join(",") + "\n";
            prop_assert_eq!(CSV.record_end(line.as_bytes()), Some(line.len()));
            prop_assert_eq!(cells(CSV, &line[..line.len() - 1]).unwrap(), values);
        }

        #[test]
        fn no_bytes_are_too_strange(bytes in prop::collection::vec(prop::sample::select(b"a,\"\\\n|'".to_vec()), 0..40)) {
            for dialect in [CSV, Dialect { delimiter: b'|', quote: Some(b'\''), escape: Some(b'\\') }, Dialect { quote: None, ..CSV }] {
                let end = dialect.record_end(&bytes).unwrap_or(bytes.len());
                prop_assert!(end <= bytes.len());
                dialect.cells(&bytes[..end]).for_each(drop);
            }
        }
    }
}
