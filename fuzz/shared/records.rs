//! What holds of every layout and every record. Shared by the fuzz target and by a test that needs no fuzzer.
//!
//! Each record is a line or a reject; a reject leaves nothing behind; a line has as many fields as its type; and its
//! values are those that stand in the record.

use evenkeel_wire::record::{Blank, Charset, Check, Dialect, Field, Kind, Layout, RecordType, Trim, Values};

fn field(bytes: [u8; 3], number: usize, start: usize) -> Field {
    let [width, what, more] = bytes;
    Field {
        name: format!("f{number}"),
        start: start + usize::from(more >> 7),
        width: 1 + usize::from(width % 20),
        most: 20,
        kind: [Kind::Text, Kind::Integer, Kind::Decimal, Kind::Time][usize::from(what & 3)],
        trim: [Trim::Both, Trim::Left, Trim::Right, Trim::None][usize::from(what >> 2 & 3)],
        blank: [Blank::Null, Blank::Empty, Blank::Refuse][usize::from(what >> 4) % 3],
        check: match more & 0x21 {
            0 => Check::None,
            1 => Check::Within(-5, i64::from(more)),
            _ => Check::OneOf(vec![b"1".to_vec(), b"20".to_vec(), b"a\0".to_vec(), vec![more]]),
        },
        pattern: None,
        kept: more & 2 == 0,
    }
}

/// The layout that the first bytes say, and what is left for records.
fn layout(data: &[u8]) -> Option<(Layout, u8, &[u8])> {
    let [count, delimiter, charset, rest @ ..] = data else { return None };
    let count = usize::from(count % 8);
    let (heads, text) = (rest.get(..3 * count)?, rest.get(3 * count..)?);
    let (mut fields, mut end) = (Vec::new(), 0);
    let escape = (charset & 0x20 != 0).then_some(b'\\');
    let dialect = (charset & 0x40 != 0).then_some(Dialect { delimiter: b',', quote: Some(b'"'), escape });
    for (number, bytes) in heads.as_chunks::<3>().0.iter().enumerate() {
        let mut found = field(*bytes, number, end);
        if dialect.is_some() {
            (found.start, found.width) = (number, 1);
        }
        end = found.end();
        fields.push(found);
    }
    let key = (0..fields.len()).step_by(2).collect();
    let of = RecordType { name: "r".to_owned(), is: Vec::new(), fields, key };
    let charsets = [Charset::Ascii, Charset::Latin1, Charset::Utf8];
    let layout = Layout::new(vec![of], None, *delimiter, charsets[usize::from(charset % 3)]).ok()?;
    Some((layout.ragged(charset & 0x80 != 0).delimited(dialect), *delimiter, text))
}

/// Asserts all of it for the layout and the records that bytes say.
pub fn check(data: &[u8]) {
    let Some((layout, delimiter, text)) = layout(data) else { return };
    let of = &layout.types()[0];
    let kept = of.fields.iter().filter(|field| field.kept).count();
    for record in text.split(|byte| *byte == b'\n') {
        let mut line = Vec::new();
        layout.key_of(0, record, &mut line);
        line.clear();
        Values::new(record, delimiter).for_each(drop);
        if layout.delimit(record, &mut line).is_err() {
            assert!(line.is_empty());
            continue;
        }
        assert_eq!(line.pop(), Some(b'\n'));
        assert!(!line.contains(&b'\n'));
        assert_eq!(parts(&line, delimiter), Some(kept));
        let values = Values::new(&line, delimiter);
        for (field, value) in of.fields.iter().filter(|field| field.kept).zip(values) {
            let (value, stands) = (value.expect("its escapes are whole"), layout.value(field, record));
            match (value, stands.iter().all(|byte| *byte == b' ')) {
                (None, is_blank) => assert!(is_blank && field.blank == Blank::Null, "{}", field.name),
                (Some(value), true) => assert!(value.is_empty(), "{}", field.name),
                (Some(value), false) => assert_eq!(*value, *stands, "{}", field.name),
            }
        }
    }
}

/// Fields of a line; `None` where it ends within an escape.
fn parts(line: &[u8], delimiter: u8) -> Option<usize> {
    let (mut parts, mut escaped) = (1, false);
    for byte in line {
        parts += usize::from(!escaped && *byte == delimiter);
        escaped = !escaped && *byte == b'\\';
    }
    (!escaped).then_some(parts)
}
