//! Guesses a layout from the records themselves, to be mended by hand.
//!
//! A [`Sample`] is parted into lines ([`sample`]), of which nearly all are as long, and these into fields where blanks and kinds of
//! letters change over many records ([`columns`]). What cannot be told is said.

mod columns;
mod delimited;
mod field;
mod sample;

pub use sample::{NoLayout, Sample};

use evenkeel_wire::record::{Charset, Kind, Layout};

/// A layout that fits all clean records of a sample.
#[derive(Clone, Debug)]
pub struct Guess {
    /// Where the fields are.
    pub layout: Layout,
    /// Where it may be wrong: the bytes before it in a record, and what may be otherwise, without the record's own bytes.
    pub doubts: Vec<(usize, String)>,
    /// The file, where fields have delimiters.
    text: Option<String>,
}

/// Guesses where the fields of the records of a sample are.
/// Errors: it has neither fixed widths nor delimiters, or is too small to tell.
pub fn guess(sample: &Sample<'_>) -> Result<Guess, NoLayout> {
    if let Some(dialect) = sample.dialect {
        let (layout, doubts, text) = delimited::guess(sample, dialect, charset(sample))?;
        return Ok(Guess { layout, doubts, text: Some(text) });
    }
    let records = sample.alike()?;
    let mut doubts = Vec::new();
    let found = field::record_type(&records, &columns::columns(&records), &mut doubts);
    let layout = Layout::new(vec![found], None, delimiter(sample), charset(sample));
    Ok(Guess { layout: layout.map_err(|_| NoLayout::NoColumns)?, doubts, text: None })
}

/// The character set of all records; one byte that is no UTF-8 makes it Latin-1.
fn charset(sample: &Sample<'_>) -> Charset {
    let letters = |record: &&[u8]| !record.is_ascii();
    match sample
        .records
        .iter()
        .copied()
        .filter(letters)
        .map(std::str::from_utf8)
        .collect::<Result<Vec<_>, _>>()
    {
        Ok(none) if none.is_empty() => Charset::Ascii,
        Ok(_) => Charset::Utf8,
        Err(_) => Charset::Latin1,
    }
}

/// A mark that stands in no record, so that nothing needs a backslash.
fn delimiter(sample: &Sample<'_>) -> u8 {
    let is_free = |mark: &u8| !sample.records.iter().any(|record| record.contains(mark));
    *b";|,\t~^".iter().find(|mark| is_free(mark)).unwrap_or(&b';')
}

impl Guess {
    /// The layout as a file that `cdr convert` takes, with its doubts as comments.
    pub fn to_toml(&self) -> String {
        let mut text =
            String::from("# Guessed from a sample: correct the names and everything marked as doubtful.\n");
        let place = if self.text.is_some() { "column" } else { "byte" };
        for (at, what) in &self.doubts {
            text.push_str(&format!("# {place} {at}: {what}\n"));
        }
        if let Some(file) = &self.text {
            return text + file;
        }
        let delimiter = char::from(self.layout.delimiter()).to_string().replace('\t', "\\t");
        let charset = format!("{:?}", self.layout.charset()).to_lowercase();
        text.push_str(&format!("delimiter = \"{delimiter}\"\ncharset = \"{charset}\"\n"));
        for field in &self.layout.types()[0].fields {
            text.push_str(&format!("\n[[field]]\nname = \"{}\"\nwidth = {}\n", field.name, field.width));
            if field.kind != Kind::Text {
                text.push_str(&format!("type = \"{}\"\n", format!("{:?}", field.kind).to_lowercase()));
            }
            if !field.kept {
                text.push_str("skip = true\n");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Dirt, Spec, generate};
    use evenkeel_core::random::Seed;
    use std::collections::BTreeMap;

    fn of(bytes: &[u8]) -> Result<Guess, NoLayout> {
        guess(&Sample::new(bytes, true)?)
    }

    fn calls(records: u64) -> Vec<u8> {
        let dirt = Dirt::parse("none").unwrap();
        let spec = Spec { records, day: 20_260_801, first: 1, dirt, seed: Seed(1) };
        let mut bytes = Vec::new();
        generate(&spec, &mut bytes, &mut |_| true).unwrap();
        bytes
    }

    #[test]
    fn the_fields_of_call_records_that_can_be_told_apart_are_found() {
        let bytes = calls(5_000);
        let guess = of(&bytes).unwrap();
        let fields: BTreeMap<usize, (usize, Kind)> = guess.layout.types()[0]
            .fields
            .iter()
            .map(|field| (field.start, (field.width, field.kind)))
            .collect();
        let text = guess.to_toml();
        for (start, width, kind) in [
            (2, 10, Kind::Integer),
            (12, 15, Kind::Text),
            (27, 15, Kind::Text),
            (42, 15, Kind::Text),
            (57, 15, Kind::Text),
            (72, 14, Kind::Time),
            (86, 14, Kind::Time),
            (100, 14, Kind::Time),
            (114, 6, Kind::Integer),
            (120, 10, Kind::Text),
            (130, 12, Kind::Text),
            (142, 7, Kind::Text),
        ] {
            assert_eq!(fields.get(&start), Some(&(width, kind)), "{start}: {text}");
        }
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            guess.layout.delimit(line, &mut Vec::new()).expect("a clean record becomes a line");
        }
        assert!(text.contains("cannot be told apart") && text.contains("key = ["), "{text}");
    }

    #[test]
    fn what_is_printed_is_read_as_the_same_layout() {
        let guess = of(&calls(500)).unwrap();
        assert_eq!(crate::layout::parse(&guess.to_toml()).unwrap().layout, guess.layout);
    }

    #[test]
    fn what_has_no_fixed_width_is_refused_with_its_reason() {
        assert_eq!(of(b"").unwrap_err(), NoLayout::Empty);
        assert_eq!(of(b"one line\n").unwrap_err(), NoLayout::Few(1));
        let binary: Vec<u8> =
            (0..20_000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        assert!(matches!(of(&binary), Err(NoLayout::Binary(_))));
        for width in [0, 8] {
            let line = |number: i32| format!("{number:width$};{:width$};x\n", number * number);
            let found = of((0..100).map(line).collect::<String>().as_bytes());
            let dialect = found.expect("a layout").layout.dialect();
            assert_eq!(dialect.is_some(), width == 0, "padded columns are of fixed width");
        }
        let text: String = (0..100).map(|number| "word ".repeat(number * 7 % 23) + "\n").collect();
        assert!(matches!(of(text.as_bytes()), Err(NoLayout::Lengths(_))));
        assert_eq!(of(&b"\n".repeat(50)).unwrap_err(), NoLayout::NoColumns);
        assert_eq!(of(&vec![b'x'; 1 << 20]).unwrap_err(), NoLayout::NoLines);
    }
}
