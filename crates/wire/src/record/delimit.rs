//! A record of fixed width as a delimited line.

use super::field::trimmed;
use super::{Blank, Charset, Field, Layout, RecordType, Reject, Trim, What, word};
use std::borrow::Cow;

/// What stands for NULL.
const NULL: &[u8] = b"\\N";

impl Layout {
    /// Appends the line of a record, with its line feed, and says of which type it is. The record comes without its line end. One
    /// that is refused appends nothing.
    pub fn delimit(&self, record: &[u8], out: &mut Vec<u8>) -> Result<usize, Reject> {
        let unknown = Reject { record_type: None, field: None, what: What::UnknownType };
        let index = self.type_of(record).ok_or(unknown)?;
        self.delimit_as(index, record, out).map(|()| index)
    }

    /// The same of a record whose type is known by its index.
    pub fn delimit_as(&self, index: usize, record: &[u8], out: &mut Vec<u8>) -> Result<(), Reject> {
        if self.dialect.is_none() && self.plans[index].line(record, self.delimiter, out) {
            return Ok(());
        }
        self.delimit_closely(index, record, out)
    }

    /// The same byte by byte, for a record that has something odd.
    fn delimit_closely(&self, index: usize, record: &[u8], out: &mut Vec<u8>) -> Result<(), Reject> {
        let before = out.len();
        let refused = |(field, what)| Reject { record_type: Some(index), field, what };
        let of = &self.types()[index];
        let done = match self.dialect {
            None => self.fields(of, record, out),
            Some(dialect) => self.cells(of, dialect.cells(record), out),
        };
        let done = done.map_err(refused);
        if done.is_err() {
            out.truncate(before);
        }
        done
    }

    fn fields(&self, of: &RecordType, record: &[u8], out: &mut Vec<u8>) -> Result<(), (Option<usize>, What)> {
        self.fits(of, record).map_err(|what| (None, what))?;
        let plain = word::is_plain(record, self.delimiter);
        for (index, field) in of.fields.iter().enumerate() {
            if !field.kept {
                continue;
            }
            let bytes = &record[field.start..field.end().min(record.len())];
            self.field(field, bytes, plain, out).map_err(|what| (Some(index), what))?;
            out.push(self.delimiter);
        }
        // The delimiter behind the last field is where the line ends.
        out.pop();
        out.push(b'\n');
        Ok(())
    }

    /// The same of a record whose fields are parted: as many as its type has columns, or fewer where it may end early.
    fn cells<'a>(
        &self,
        of: &RecordType,
        cells: impl Iterator<Item = Result<Cow<'a, [u8]>, What>>,
        out: &mut Vec<u8>,
    ) -> Result<(), (Option<usize>, What)> {
        let (mut fields, mut found) = (of.fields.iter().enumerate().peekable(), 0);
        for cell in cells {
            let cell = cell.map_err(|what| (None, what))?;
            if let Some((index, field)) = fields.next_if(|(_, field)| field.start == found)
                && field.kept
            {
                if field.pattern.is_none() && trimmed(&cell, field.trim).len() > field.most {
                    return Err((Some(index), What::Wide(field.most)));
                }
                self.field(field, &cell, false, out).map_err(|what| (Some(index), what))?;
                out.push(self.delimiter);
            }
            found += 1;
        }
        let expected = of.length();
        match found {
            _ if found > expected => return Err((None, What::Long { found, expected })),
            _ if found < expected && !self.ragged => return Err((None, What::Short { found, expected })),
            _ => {}
        }
        for (index, field) in fields.filter(|(_, field)| field.kept) {
            self.field(field, b"", false, out).map_err(|what| (Some(index), what))?;
            out.push(self.delimiter);
        }
        out.pop();
        out.push(b'\n');
        Ok(())
    }

    /// Whether the record is as long as its type.
    fn fits(&self, of: &RecordType, record: &[u8]) -> Result<(), What> {
        let (found, expected) = (record.len(), of.length());
        let least = match of.fields.last() {
            Some(last) if self.ragged => last.start,
            _ => expected,
        };
        match found {
            _ if found < least => Err(What::Short { found, expected }),
            _ if found > expected => Err(What::Long { found, expected }),
            _ => Ok(()),
        }
    }

    fn field(&self, field: &Field, bytes: &[u8], plain: bool, out: &mut Vec<u8>) -> Result<(), What> {
        let value = trimmed(bytes, field.trim);
        let is_none = field.pattern.as_ref().is_some_and(|pattern| pattern.is_none(value));
        if value.is_empty() || is_none || (field.trim == Trim::None && trimmed(value, Trim::Both).is_empty())
        {
            return match field.blank {
                Blank::Null => {
                    out.extend_from_slice(NULL);
                    Ok(())
                }
                Blank::Empty => Ok(()),
                Blank::Refuse => Err(What::Blank),
            };
        }
        if !plain {
            self.charset.judge(value, self.dialect.is_some())?;
        }
        let instant =
            field.pattern.as_ref().map(|pattern| pattern.instant(value).ok_or(What::Time)).transpose()?;
        let value = instant.as_ref().map_or(value, |instant| &instant[..]);
        field.judge(value)?;
        if field.pattern.as_ref().is_some_and(|pattern| pattern.is_outside(value)) {
            return Err(What::Timestamp);
        }
        let value = field.kind.pointed(value);
        match plain {
            true => out.extend_from_slice(&value),
            false => escape(&value, self.delimiter, out),
        }
        Ok(())
    }
}

/// A backslash before what would part fields or escape what follows.
fn escape(value: &[u8], delimiter: u8, out: &mut Vec<u8>) {
    for byte in value {
        match *byte {
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            byte if byte == delimiter || byte == b'\\' => out.extend_from_slice(&[b'\\', byte]),
            byte => out.push(byte),
        }
    }
}

impl Charset {
    /// Whether all bytes of a value are letters of the character set, or line ends where it may have some.
    pub(super) fn judge(self, value: &[u8], has_lines: bool) -> Result<(), What> {
        for byte in value {
            match byte {
                0 => return Err(What::Nul),
                b'\t' => {}
                b'\n' | b'\r' if has_lines => {}
                0x01..=0x1f | 0x7f => return Err(What::Control(*byte)),
                0x80.. if self == Self::Ascii => return Err(What::Charset),
                _ => {}
            }
        }
        match self {
            Self::Utf8 if std::str::from_utf8(value).is_err() => Err(What::Charset),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Check, Kind};
    use proptest::prelude::*;

    fn call(charset: Charset) -> Layout {
        let fields = vec![
            Field { kind: Kind::Integer, blank: Blank::Refuse, ..Field::text("seq", 0, 4) },
            Field::text("name", 4, 6),
            Field { kept: false, ..Field::text("filler", 10, 1) },
            Field { kind: Kind::Time, blank: Blank::Null, ..Field::text("answered", 11, 8) },
        ];
        let of = RecordType { name: "calls".to_owned(), is: Vec::new(), fields, key: vec![0] };
        Layout::new(vec![of], None, b';', charset).unwrap()
    }

    fn line(layout: &Layout, record: &[u8]) -> Result<String, What> {
        let mut out = b"before\n".to_vec();
        let done = layout.delimit(record, &mut out);
        assert!(out.starts_with(b"before\n"));
        match done {
            Ok(_) => Ok(String::from_utf8_lossy(&out[7..]).into_owned()),
            Err(reject) => {
                assert_eq!(out.len(), 7, "a refused record leaves nothing behind");
                Err(reject.what)
            }
        }
    }

    #[test]
    fn a_record_becomes_its_trimmed_fields_without_the_filler() {
        let layout = call(Charset::Ascii);
        assert_eq!(line(&layout, b"  17 ada  x20260102").unwrap(), "17;ada;20260102\n");
        assert_eq!(line(&layout, b"17            \x20\x20\x20\x20\x20").unwrap(), "17;;\\N\n");
    }

    #[test]
    fn what_could_be_taken_for_something_else_has_a_backslash() {
        let layout = call(Charset::Ascii);
        assert_eq!(line(&layout, b"1   a;b\\c x        ").unwrap(), "1;a\\;b\\\\c;\\N\n");
        assert_eq!(line(&layout, b"1   \\N    x        ").unwrap(), "1;\\\\N;\\N\n");
    }

    #[test]
    fn a_record_is_as_long_as_its_type_unless_its_last_field_may_end_early() {
        let layout = call(Charset::Ascii);
        let (short, long) = (b"1   ada   x202601", b"1   ada   x20260102 ");
        assert_eq!(line(&layout, short), Err(What::Short { found: 17, expected: 19 }));
        assert_eq!(line(&layout, long), Err(What::Long { found: 20, expected: 19 }));
        let ragged = call(Charset::Ascii).ragged(true);
        assert_eq!(line(&ragged, b"1   ada   x").unwrap(), "1;ada;\\N\n");
        assert_eq!(line(&ragged, short), Err(What::Time));
        assert_eq!(line(&ragged, b"1   ada"), Err(What::Short { found: 7, expected: 19 }));
        assert_eq!(line(&ragged, b""), Err(What::Short { found: 0, expected: 19 }));
    }

    #[test]
    fn a_byte_that_is_no_letter_is_refused_where_it_would_be_stored_and_only_there() {
        let of = |charset, letters: &[u8; 6]| {
            line(&call(charset), &[b"1   ", &letters[..], b"x        "].concat())
        };
        assert_eq!(of(Charset::Ascii, b"ad\0   "), Err(What::Nul));
        assert_eq!(of(Charset::Ascii, b"ad\x07   "), Err(What::Control(7)));
        assert_eq!(of(Charset::Ascii, b"ad\xe9   "), Err(What::Charset));
        assert_eq!(of(Charset::Utf8, b"ad\xe9   "), Err(What::Charset));
        assert!(of(Charset::Latin1, b"ad\xe9   ").is_ok());
        assert_eq!(of(Charset::Utf8, b"ad\xc3\xa9  ").unwrap(), "1;ad\u{e9};\\N\n");
        assert_eq!(of(Charset::Ascii, b"a\td   ").unwrap(), "1;a\td;\\N\n");
        assert!(line(&call(Charset::Ascii), b"1   ada   \x0020260102").is_ok(), "a filler is not stored");
    }

    #[test]
    fn a_blank_field_is_null_empty_or_refused_as_the_layout_says() {
        let layout = call(Charset::Ascii);
        assert_eq!(line(&layout, b"    ada   x20260102"), Err(What::Blank));
        let untrimmed = Field { trim: Trim::None, blank: Blank::Null, ..Field::text("a", 0, 3) };
        let of =
            RecordType { name: "a".to_owned(), is: Vec::new(), fields: vec![untrimmed], key: Vec::new() };
        let layout = Layout::new(vec![of], None, b';', Charset::Ascii).unwrap();
        assert_eq!(
            (line(&layout, b"   ").unwrap(), line(&layout, b" a ").unwrap()),
            ("\\N\n".to_owned(), " a \n".to_owned())
        );
    }

    #[test]
    fn a_record_whose_type_nobody_knows_is_refused_as_a_whole() {
        let field = |check| Field { check, ..Field::text("type", 0, 2) };
        let of = |name: &str, is: &str| RecordType {
            name: name.to_owned(),
            is: vec![is.as_bytes().to_vec()],
            fields: vec![field(Check::None), Field::text("rest", 2, if is == "01" { 1 } else { 3 })],
            key: Vec::new(),
        };
        let layout =
            Layout::new(vec![of("calls", "01"), of("texts", "02")], Some(0..2), b'|', Charset::Ascii)
                .unwrap();
        let mut out = Vec::new();
        assert_eq!(layout.delimit(b"01a", &mut out), Ok(0));
        assert_eq!(layout.delimit(b"02abc", &mut out), Ok(1));
        let reject = layout.delimit(b"03abc", &mut out).unwrap_err();
        assert_eq!(
            (reject.what, reject.explain(&layout)),
            (What::UnknownType, "no record type has these letters".to_owned())
        );
        let reject = layout.delimit(b"01abc", &mut out).unwrap_err();
        assert_eq!(reject.explain(&layout), "too long: 5 of 3");
        assert_eq!(out, b"01|a\n02|abc\n");
    }

    /// A field with what its width, its kind and a number say.
    fn any_field((width, kind, odd): (usize, Kind, usize)) -> Field {
        let check = match (kind, odd % 3) {
            (Kind::Integer | Kind::Decimal, 0) => Check::Within(-5, 70),
            (_, 1) => {
                Check::OneOf(vec![b"1".to_vec(), b"20".to_vec(), b"20260229".to_vec(), b"a\0".to_vec()])
            }
            _ => Check::None,
        };
        Field {
            kind,
            check,
            trim: [Trim::Both, Trim::Left, Trim::Right, Trim::None][odd / 3 % 4],
            blank: [Blank::Null, Blank::Empty, Blank::Refuse][odd / 12 % 3],
            kept: odd / 36 != 0,
            ..Field::text("", 0, width)
        }
    }

    /// What may stand in a field: often what it wants, and now and then anything.
    fn any_value() -> impl Strategy<Value = Vec<u8>> {
        let word = prop_oneof![
            4 => " {0,3}[0-9]{0,9} {0,3}", 4 => "(20|19|09)[0-9]{2}(02|1[0-3])([0-2][0-9]|3[0-2])([0-2][0-9][0-6][0-9][0-6][0-9])?",
            2 => "[-+]?[0-9]{0,4}\\.[0-9]{0,3}", 2 => "[ -~]{0,18}", 1 => " {0,20}", 1 => "(1|20|20260229| a)",
        ];
        prop_oneof![40 => word.prop_map(String::into_bytes), 1 => proptest::collection::vec(any::<u8>(), 0..20)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn a_record_becomes_the_same_whether_it_is_looked_at_closely_or_not(
            fields in proptest::collection::vec(
                ((1_usize..20), prop_oneof![Just(Kind::Text), Just(Kind::Integer), Just(Kind::Decimal), Just(Kind::Scaled(3)), Just(Kind::Time)], 0_usize..360),
                1..6,
            ),
            values in proptest::collection::vec(any_value(), 6),
        ) {
            let mut fields: Vec<Field> = fields.into_iter().map(any_field).collect();
            let (mut at, mut record) = (0, Vec::new());
            for (number, (field, value)) in fields.iter_mut().zip(values).enumerate() {
                (field.name, field.start) = (format!("f{number}"), at);
                at += field.width;
                record.extend(value.into_iter().take(field.width));
                record.resize(at, b' ');
            }
            fields[0].kept = true;
            let of = RecordType { name: "a".to_owned(), is: Vec::new(), fields, key: Vec::new() };
            let layout = Layout::new(vec![of], None, b';', Charset::Latin1).unwrap();
            let (mut quick, mut closely) = (b"x".to_vec(), b"x".to_vec());
            prop_assert_eq!(layout.delimit_as(0, &record, &mut quick), layout.delimit_closely(0, &record, &mut closely));
            prop_assert_eq!(quick, closely);
        }
    }
}
