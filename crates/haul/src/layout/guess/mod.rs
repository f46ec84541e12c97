//! Guesses a layout from the records themselves, to be mended by hand.
//!
//! A [`Sample`] is parted into records ([`sample`]), these into types where their lengths tell some apart ([`types`]), and each type into
//! fields where blanks and kinds of letters change over many records ([`columns`]). What cannot be told is said ([`Doubt`]).

mod cells;
mod columns;
mod doubt;
mod field;
mod sample;
mod types;

pub use doubt::Doubt;
pub use sample::{NoLayout, Sample};

use super::to_toml;
use crate::blocks::Separator;
use columns::Column;
use evenkeel_wire::record::{Charset, Layout};

/// A layout that fits all clean records of a sample.
#[derive(Clone, Debug)]
pub struct Guess {
    /// Where the fields are.
    pub layout: Layout,
    /// How records are parted.
    pub separator: Separator,
    /// Where it may be wrong.
    pub doubts: Vec<Doubt>,
}

/// Guesses where the fields of the records of a sample are.
///
/// # Errors
/// It is none of fixed width, or too small to tell.
pub fn guess(sample: &Sample<'_>) -> Result<Guess, NoLayout> {
    let groups = types::groups(sample)?;
    let tell = groups.tell.clone();
    let (mut found, mut doubts) = (Vec::new(), Vec::new());
    for group in groups.all {
        let columns: Vec<Column> = columns::columns(&group.records);
        found.push(field::record_type(&group, &columns, &mut doubts));
    }
    let charset = charset(sample);
    let layout = Layout::new(found, tell, delimiter(sample), charset).map_err(|_| NoLayout::NoColumns)?;
    Ok(Guess { layout, separator: sample.separator, doubts })
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
        for Doubt { record_type, at, what } in &self.doubts {
            let of = if self.layout.types().len() > 1 { format!("{record_type}, ") } else { String::new() };
            text.push_str(&format!("# {of}byte {at}: {what}\n"));
        }
        if matches!(self.separator, Separator::Length(_)) {
            text.push_str("separator = \"none\"\n");
        }
        text + &to_toml(&self.layout)
    }
}

#[cfg(test)]
mod tests;
