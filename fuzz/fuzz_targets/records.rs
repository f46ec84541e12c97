//! Layouts and records: each record is a line or a reject, a reject leaves nothing behind, and a line has as many fields as its type.
#![no_main]

use evenkeel_wire::record::{Blank, Charset, Check, Field, Kind, Layout, RecordType, Trim};
use libfuzzer_sys::fuzz_target;

fn field(bytes: [u8; 3], number: usize, start: usize) -> Field {
    let [width, what, more] = bytes;
    Field {
        name: format!("f{number}"),
        start: start + usize::from(more >> 7),
        width: 1 + usize::from(width % 20),
        kind: [Kind::Text, Kind::Integer, Kind::Decimal, Kind::Time][usize::from(what & 3)],
        trim: [Trim::Both, Trim::Left, Trim::Right, Trim::None][usize::from(what >> 2 & 3)],
        blank: [Blank::Null, Blank::Empty, Blank::Refuse][usize::from(what >> 4) % 3],
        check: if more & 1 == 1 { Check::Within(-5, i64::from(more)) } else { Check::None },
        kept: more & 2 == 0,
    }
}

fuzz_target!(|data: &[u8]| {
    let [count, delimiter, charset, rest @ ..] = data else { return };
    let count = usize::from(count % 8);
    let (Some(heads), Some(text)) = (rest.get(..3 * count), rest.get(3 * count..)) else { return };
    let (mut fields, mut end) = (Vec::new(), 0);
    for (number, bytes) in heads.as_chunks::<3>().0.iter().enumerate() {
        let found = field(*bytes, number, end);
        end = found.end();
        fields.push(found);
    }
    let kept = fields.iter().filter(|field| field.kept).count();
    let of = RecordType { name: "r".to_owned(), is: Vec::new(), fields, key: Vec::new() };
    let charset = [Charset::Ascii, Charset::Latin1, Charset::Utf8][usize::from(charset % 3)];
    let Ok(layout) = Layout::new(vec![of], None, *delimiter, charset) else { return };
    for record in text.split(|byte| *byte == b'\n') {
        let (mut line, mut again) = (Vec::new(), Vec::new());
        if layout.delimit(record, &mut line).is_err() {
            assert!(line.is_empty());
            continue;
        }
        let line = line.strip_suffix(b"\n").expect("a line has its end");
        assert!(!line.contains(&b'\n'));
        let (mut parts, mut escaped) = (1, false);
        for byte in line {
            parts += usize::from(!escaped && byte == delimiter);
            escaped = !escaped && *byte == b'\\';
        }
        assert!(!escaped && parts == kept);
        // It may be refused for a value that its field's alignment would change, and never panics.
        let _ = layout.widen(0, line, &mut again);
        let _ = layout.widen(0, record, &mut again);
    }
});
