//! The short form: `delimiter=;` and `widths=2,10,15`, and names of the columns where somebody wants them.

use super::file::{LayoutFile, Problem};
use crate::blocks::Separator;
use evenkeel_wire::record::{Charset, Field, Layout, RecordType};

/// Every field is a text that is trimmed on both sides, and every byte from 0x20 on is taken.
pub(super) fn parse(text: &str) -> Result<LayoutFile, Problem> {
    let (mut delimiter, mut widths, mut names) = (b';', None, None);
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.trim();
        if content.is_empty() || content.starts_with(['#', '!']) {
            continue;
        }
        let (key, value) = content.split_once('=').ok_or_else(|| Problem::at(line, "not `key=value`"))?;
        let items = || value.split(',').map(|item| item.trim().to_owned()).collect::<Vec<_>>();
        match key.trim() {
            "delimiter" => delimiter = one_byte(value, line)?,
            "widths" => widths = Some((line, items())),
            "names" => names = Some((line, items())),
            other => {
                let text = format!("no key `{other}`; there are delimiter, widths, names");
                return Err(Problem::at(line, text));
            }
        }
    }
    let (line, widths) = widths.ok_or_else(|| Problem::new("widths are missing"))?;
    let names = match names {
        None => (1..=widths.len()).map(|number| format!("f{number}")).collect(),
        Some((_, names)) if names.len() == widths.len() => names,
        Some((line, names)) => {
            let text = format!("{} names for {} widths", names.len(), widths.len());
            return Err(Problem::at(line, text));
        }
    };
    let (mut fields, mut start) = (Vec::new(), 0_usize);
    for (name, width) in names.iter().zip(&widths) {
        let width = width.parse().map_err(|_| Problem::at(line, format!("widths: `{width}` is no width")))?;
        fields.push(Field::text(name, start, width));
        start = start.saturating_add(width);
    }
    let of = RecordType { name: "records".to_owned(), is: Vec::new(), fields, key: Vec::new() };
    let layout = Layout::new(vec![of], None, delimiter, Charset::Latin1)?;
    Ok(LayoutFile { layout, separator: Separator::Line, text: text.to_owned() })
}

fn one_byte(value: &str, line: usize) -> Result<u8, Problem> {
    match value.trim_matches(' ').replace("\\t", "\t").as_bytes() {
        [byte] => Ok(*byte),
        _ => Err(Problem::at(line, format!("delimiter: `{value}` is not one letter"))),
    }
}
