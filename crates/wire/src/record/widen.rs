//! A delimited line as a record of fixed width.

use super::trim::trimmed;
use super::{Field, Layout, Reject, Trim, What};

impl Layout {
    /// Appends the record of a delimited line of the type with this index, with a line feed. The line comes without its line end.
    /// One that is refused appends nothing. Fillers are blanks, and so is NULL.
    pub fn widen(&self, index: usize, line: &[u8], out: &mut Vec<u8>) -> Result<(), Reject> {
        let before = out.len();
        let done = self.widened(index, line, out);
        if done.is_err() {
            out.truncate(before);
        }
        done.map_err(|(field, what)| Reject { record_type: Some(index), field, what })
    }

    fn widened(&self, index: usize, line: &[u8], out: &mut Vec<u8>) -> Result<(), (Option<usize>, What)> {
        let of = &self.types()[index];
        let values = Values { rest: Some(line), delimiter: self.delimiter };
        let (begin, expected) = (out.len(), of.fields.iter().filter(|field| field.kept).count());
        out.resize(begin + of.length(), b' ');
        let mut found = 0;
        let mut kept = of.fields.iter().enumerate().filter(|(_, field)| field.kept);
        for value in values {
            found += 1;
            // Counted to the end, so that the reject says how many there are.
            let Some((place, field)) = kept.next() else { continue };
            let fit = |what| (Some(place), what);
            let value = value.map_err(fit)?;
            if let Some(value) = value {
                self.charset.judge(&value).map_err(fit)?;
                put(field, &value, &mut out[begin + field.start..begin + field.end()]).map_err(fit)?;
                let missing = field.width - value.len();
                match field.trim {
                    // Blanks behind it would be part of the value.
                    Trim::None if missing > 0 && !value.is_empty() => {
                        let may_end = self.ragged && place + 1 == of.fields.len();
                        may_end
                            .then(|| out.truncate(out.len() - missing))
                            .ok_or_else(|| fit(What::Narrow))?;
                    }
                    _ => {}
                }
            }
        }
        match found {
            _ if found < expected => return Err((None, What::Short { found, expected })),
            _ if found > expected => return Err((None, What::Long { found, expected })),
            _ => {}
        }
        // The bytes that tell the type may lie in a filler.
        if let Some((told, is)) = self.tell().zip(of.is.first()) {
            let told = begin + told.start..begin + told.end;
            if out.get(told.clone()).is_some_and(|bytes| trimmed(bytes, Trim::Both).is_empty()) {
                out[told].copy_from_slice(is);
            }
        }
        match self.type_of(&out[begin..]) {
            Some(told) if told == index => {}
            _ => return Err((None, What::UnknownType)),
        }
        out.push(b'\n');
        Ok(())
    }
}

/// Lays a value into its field, on the side from which its padding is not taken away.
fn put(field: &Field, value: &[u8], into: &mut [u8]) -> Result<(), What> {
    let Some(free) = into.len().checked_sub(value.len()) else { return Err(What::Wide) };
    if !trimmed(value, Trim::Both).is_empty() {
        field.judge(value)?;
    }
    let from = if field.trim == Trim::Left { free } else { 0 };
    into[from..from + value.len()].copy_from_slice(value);
    Ok(())
}

/// The values of a delimited line, `None` for NULL.
struct Values<'a> {
    /// What is left of the line; `None` behind the last field.
    rest: Option<&'a [u8]>,
    delimiter: u8,
}

impl Iterator for Values<'_> {
    type Item = Result<Option<Vec<u8>>, What>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.take()?;
        let mut value = Vec::new();
        let mut bytes = rest.iter().enumerate();
        let mut null = false;
        while let Some((at, byte)) = bytes.next() {
            match *byte {
                delimiter if delimiter == self.delimiter => {
                    self.rest = Some(&rest[at + 1..]);
                    break;
                }
                b'\\' => match bytes.next() {
                    None => return Some(Err(What::Escape)),
                    Some((1, b'N')) if rest.get(2).is_none_or(|next| *next == self.delimiter) => null = true,
                    Some((_, escaped)) => value.push(unescaped(*escaped)),
                },
                byte => value.push(byte),
            }
        }
        Some(Ok((!null).then_some(value)))
    }
}

/// What a letter behind a backslash stands for, as the servers read it.
fn unescaped(letter: u8) -> u8 {
    match letter {
        b'0' => 0,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'Z' => 0x1a,
        letter => letter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Blank, Charset, Kind, RecordType};
    use proptest::prelude::*;

    fn layout() -> Layout {
        let fields = vec![
            Field { kind: Kind::Integer, trim: Trim::Left, ..Field::text("seq", 0, 6) },
            Field { kept: false, ..Field::text("filler", 6, 2) },
            Field { blank: Blank::Null, ..Field::text("name", 8, 8) },
        ];
        let of = RecordType { name: "calls".to_owned(), is: Vec::new(), fields, key: Vec::new() };
        Layout::new(vec![of], None, b';', Charset::Latin1).unwrap()
    }

    fn record(line: &[u8]) -> Result<Vec<u8>, What> {
        let mut out = b"x".to_vec();
        let done = layout().widen(0, line, &mut out);
        assert!(done.is_ok() || out == b"x", "a refused line leaves nothing behind");
        done.map(|()| out[1..].to_vec()).map_err(|reject| reject.what)
    }

    #[test]
    fn numbers_stand_to_the_right_where_their_padding_is_before_them_and_null_is_blank() {
        assert_eq!(record(b"17;ada").unwrap(), b"    17  ada     \n");
        assert_eq!(record(b"17;\\N").unwrap(), b"    17          \n");
        assert_eq!(record(b"17;a\\;\\\\b").unwrap(), b"    17  a;\\b    \n");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(record(b"17"), Err(What::Short { found: 1, expected: 2 }));
        assert_eq!(record(b"17;a;b;c"), Err(What::Long { found: 4, expected: 2 }));
        assert_eq!(record(b"1234567;a"), Err(What::Wide));
        assert_eq!(record(b"x;a"), Err(What::Integer));
        assert_eq!(record(b"1;a\\"), Err(What::Escape));
        assert_eq!(record(b"1;a\\0"), Err(What::Nul));
        assert_eq!(record(b"1;a\\n"), Err(What::Control(b'\n')));
    }

    #[test]
    fn a_value_whose_blanks_count_is_as_wide_as_its_field_or_ends_the_record() {
        let field = Field { kind: Kind::Integer, trim: Trim::None, ..Field::text("a", 0, 3) };
        let of = RecordType { name: "a".to_owned(), is: Vec::new(), fields: vec![field], key: Vec::new() };
        let layout = Layout::new(vec![of], None, b';', Charset::Ascii).unwrap();
        let mut out = Vec::new();
        let refused = layout.widen(0, b"17", &mut out).map_err(|reject| reject.what);
        assert_eq!((refused, out.len()), (Err(What::Narrow), 0));
        layout.ragged(true).widen(0, b"17", &mut out).unwrap();
        assert_eq!(out, b"17\n");
    }

    #[test]
    fn the_bytes_that_tell_the_type_are_written_where_they_lie_in_a_filler() {
        let of = |name: &str, is: &str| RecordType {
            name: name.to_owned(),
            is: vec![is.as_bytes().to_vec()],
            fields: vec![Field { kept: false, ..Field::text("type", 0, 1) }, Field::text("a", 1, 2)],
            key: Vec::new(),
        };
        let layout =
            Layout::new(vec![of("one", "1"), of("two", "2")], Some(0..1), b';', Charset::Ascii).unwrap();
        let mut out = Vec::new();
        layout.widen(1, b"a", &mut out).unwrap();
        assert_eq!(out, b"2a \n");
    }

    proptest! {
        #[test]
        fn a_record_that_became_a_line_comes_back(seq in 0_u32..999_999, name in "[a-z;\\\\N\u{80}-\u{ff}]{0,8}") {
            let name: Vec<u8> = name.chars().map(|letter| letter as u8).collect();
            prop_assume!(name.iter().all(|byte| !(0x80..0xa0).contains(byte) || *byte != 0x7f));
            let mut first = format!("{seq:>6}  ").into_bytes();
            first.extend(&name);
            first.resize(16, b' ');
            let (mut line, mut again) = (Vec::new(), Vec::new());
            layout().delimit(&first, &mut line).unwrap();
            layout().widen(0, &line[..line.len() - 1], &mut again).unwrap();
            prop_assert_eq!(&again[..16], &first[..]);
        }

        #[test]
        fn every_record_is_a_line_or_a_reject(bytes in proptest::collection::vec(any::<u8>(), 0..20)) {
            let mut out = Vec::new();
            match layout().delimit(&bytes, &mut out) {
                Ok(_) => prop_assert!(out.ends_with(b"\n") && out.iter().filter(|byte| **byte == b'\n').count() == 1),
                Err(_) => prop_assert!(out.is_empty()),
            }
            let _ = layout().widen(0, &bytes, &mut out);
        }
    }
}
