//! A layout as a TOML file, to be mended by hand.

use evenkeel_wire::record::{Blank, Charset, Check, Field, Kind, Layout, RecordType, Trim};
use std::fmt::Write;

/// The layout with every field on lines of its own and nothing that is the default.
pub fn to_toml(layout: &Layout) -> String {
    let mut out = format!("delimiter = {}\n", quoted(&[layout.delimiter()]));
    match layout.charset() {
        Charset::Ascii => {}
        Charset::Latin1 => out.push_str("charset = \"latin1\"\n"),
        Charset::Utf8 => out.push_str("charset = \"utf8\"\n"),
    }
    if layout.is_ragged() {
        out.push_str("ragged = true\n");
    }
    match (layout.types(), layout.tell()) {
        ([one], None) => {
            push_key(one, &mut out);
            one.fields.iter().fold(0, |end, field| push_field("field", one, field, end, &mut out));
        }
        (types, tell) => {
            let tell = tell.unwrap_or_default();
            let _ = writeln!(out, "tell = {{ from = {}, width = {} }}", tell.start, tell.len());
            for each in types {
                let is: Vec<String> = each.is.iter().map(|is| quoted(is)).collect();
                let _ = writeln!(
                    out,
                    "\n[[record]]\nname = {}\nis = [{}]",
                    quoted(each.name.as_bytes()),
                    is.join(", ")
                );
                push_key(each, &mut out);
                each.fields
                    .iter()
                    .fold(0, |end, field| push_field("record.field", each, field, end, &mut out));
            }
        }
    }
    out
}

fn push_key(of: &RecordType, out: &mut String) {
    let names: Vec<String> = of.key.iter().map(|index| quoted(of.fields[*index].name.as_bytes())).collect();
    if !names.is_empty() {
        let _ = writeln!(out, "key = [{}]", names.join(", "));
    }
}

/// Appends a field that follows one with this end; says where it ends itself.
fn push_field(table: &str, of: &RecordType, field: &Field, end: usize, out: &mut String) -> usize {
    let _ = writeln!(out, "\n[[{table}]]\nname = {}", quoted(field.name.as_bytes()));
    if field.start != end {
        let _ = writeln!(out, "start = {}", field.start);
    }
    let _ = writeln!(out, "width = {}", field.width);
    let mut word = |key: &str, word: &str| {
        let _ = writeln!(out, "{key} = \"{word}\"");
    };
    match field.kind {
        Kind::Text => {}
        Kind::Integer => word("type", "integer"),
        Kind::Decimal | Kind::Scaled(_) => word("type", "decimal"),
        Kind::Time => word("type", "time"),
    }
    match field.trim {
        Trim::Both => {}
        Trim::Left => word("trim", "left"),
        Trim::Right => word("trim", "right"),
        Trim::None => word("trim", "none"),
    }
    let in_key = of.key.iter().any(|index| of.fields[*index].name == field.name);
    match (field.blank, field.kind) {
        (Blank::Refuse, _) if in_key => {}
        (Blank::Empty, Kind::Text) if !in_key => {}
        (Blank::Null, Kind::Integer | Kind::Decimal | Kind::Scaled(_) | Kind::Time) if !in_key => {}
        (Blank::Null, _) => word("blank", "null"),
        (Blank::Empty, _) => word("blank", "empty"),
        (Blank::Refuse, _) => word("blank", "refuse"),
    }
    if let Kind::Scaled(scale) = field.kind {
        let _ = writeln!(out, "scale = {scale}");
    }
    match &field.check {
        Check::None => {}
        Check::Within(least, most) => {
            let _ = writeln!(out, "min = {least}\nmax = {most}");
        }
        Check::OneOf(values) => {
            let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
            let _ = writeln!(out, "one_of = [{}]", values.join(", "));
        }
    }
    if !field.kept {
        out.push_str("skip = true\n");
    }
    field.end()
}

/// A TOML string; TOML is UTF-8, as is all that a layout file can have said, and takes the escapes of JSON.
fn quoted(bytes: &[u8]) -> String {
    serde_json::Value::from(String::from_utf8_lossy(bytes)).to_string()
}
