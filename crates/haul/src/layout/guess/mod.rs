//! Guesses a layout from the records themselves, to be mended by hand.
//!
//! A [`Sample`] is parted into lines ([`sample`]), of which nearly all are as long, and these into fields where blanks and kinds of
//! letters change over many records ([`columns`]). What cannot be told is said.

mod cells;
mod columns;
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
}

/// Guesses where the fields of the records of a sample are.
///
/// # Errors
/// It is none of fixed width, or too small to tell.
pub fn guess(sample: &Sample<'_>) -> Result<Guess, NoLayout> {
    let records = sample.alike()?;
    let mut doubts = Vec::new();
    let found = field::record_type(&records, &columns::columns(&records), &mut doubts);
    let layout = Layout::new(vec![found], None, delimiter(sample), charset(sample));
    Ok(Guess { layout: layout.map_err(|_| NoLayout::NoColumns)?, doubts })
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
        for (at, what) in &self.doubts {
            text.push_str(&format!("# byte {at}: {what}\n"));
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
mod tests;
