//! On which line of a file a key stands, for errors that are found once its text has become a table.

use anyhow::anyhow;
use std::fmt;
use toml::de::{DeTable, DeValue};

/// An error of a key, whose line is found where the text is at hand.
#[derive(Debug)]
pub struct AtKey {
    /// The name that errors call its table by.
    pub entry: String,
    /// The key in that table.
    pub key: String,
    /// What is wrong with it, without the entry.
    pub text: String,
}

impl fmt::Display for AtKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.entry, self.text)
    }
}

impl std::error::Error for AtKey {}

/// What is wrong with the value of a key, by the name of its table.
pub fn at_key(entry: &str, key: &str, text: String) -> anyhow::Error {
    AtKey { entry: entry.to_owned(), key: key.to_owned(), text }.into()
}

/// An error of a file, with its line where it is that of a key.
pub fn located(file: &str, text: &str, error: &anyhow::Error) -> anyhow::Error {
    let Some(at) = error.downcast_ref::<AtKey>() else { return anyhow!("{file}: {error}") };
    let Some(lines) = Lines::of(text) else { return anyhow!("{file}: {at}") };
    match lines.of_key(&at.entry, &at.key) {
        Some(line) => anyhow!("{file}:{line}: {at}"),
        None => anyhow!("{file}: {at}"),
    }
}

/// A key somewhere in a file.
struct Found {
    /// What errors call its table and no other one.
    entries: Vec<String>,
    line: usize,
}

/// Errors of these are about the top of a file.
const TOP: [&str; 4] = ["guard", "share", "study", "workload"];

/// The keys of a text.
pub struct Lines<'a> {
    text: &'a str,
    table: DeTable<'a>,
}

impl<'a> Lines<'a> {
    /// `None` of a text that is no TOML.
    pub fn of(text: &'a str) -> Option<Self> {
        Some(Self { text, table: DeTable::parse(text).ok()?.into_inner() })
    }

    /// The line of a key by its path, in which a number is a place in a list.
    pub fn at(&self, path: &[&str]) -> Option<usize> {
        let (key, tables) = path.split_last()?;
        let mut table = &self.table;
        let mut list = None;
        for step in tables {
            let value = match list.take() {
                Some(values) => element(values, step)?,
                None => table.get(*step)?.get_ref(),
            };
            match value {
                DeValue::Table(inner) => table = inner,
                other => list = Some(other),
            }
        }
        self.line_in(table, key)
    }

    /// The line of a key of the table that errors call so, or of the only one that has the key.
    pub fn of_key(&self, entry: &str, key: &str) -> Option<usize> {
        let found = self.everywhere(key);
        let only = if let [only] = &found[..] { Some(only) } else { None };
        let meant = found.iter().find(|found| found.entries.iter().any(|own| own == entry));
        meant.or(only).map(|found| found.line)
    }

    /// Every table that has the key.
    fn everywhere(&self, key: &str) -> Vec<Found> {
        let mut found = Vec::new();
        self.search(&self.table, TOP.map(str::to_owned).to_vec(), key, &mut found);
        found
    }

    fn search(&self, table: &DeTable<'_>, entries: Vec<String>, key: &str, found: &mut Vec<Found>) {
        let line = self.line_in(table, key);
        found.extend(line.map(|line| Found { entries, line }));
        for (own, value) in table {
            let own = own.get_ref();
            match value.get_ref() {
                DeValue::Table(inner) => self.search(inner, vec![own.to_string()], key, found),
                DeValue::Array(values) => {
                    let tables = values.iter().enumerate();
                    let tables =
                        tables.filter_map(|(place, value)| Some((place, value.get_ref().as_table()?)));
                    tables.for_each(|(place, inner)| {
                        self.search(inner, of_list(own, place, inner), key, found);
                    });
                }
                _ => {}
            }
        }
    }

    fn line_in(&self, table: &DeTable<'_>, key: &str) -> Option<usize> {
        let (own, _) = table.get_key_value(key)?;
        Some(1 + self.text.get(..own.span().start)?.matches('\n').count())
    }
}

/// What errors call a table of a list: by its number, or by its name where it has one.
fn of_list(list: &str, place: usize, table: &DeTable<'_>) -> Vec<String> {
    let name = table.get("name").and_then(|name| name.get_ref().as_str());
    let named = name.map(|name| format!("{list} `{name}`"));
    [format!("{list} {}", place + 1)].into_iter().chain(named).collect()
}

fn element<'a, 'i>(values: &'a DeValue<'i>, place: &str) -> Option<&'a DeValue<'i>> {
    Some(values.as_array()?.get(place.parse::<usize>().ok()?)?.get_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name = 'a'\n[guard]\nlisten = 'x'\n\n[control]\nlimt = 3\n[[factor]]\nname = 'f'\n\
        [[factor.level]]\nname = 'one'\n[[factor.level]]\nname = 'two'\nrate = 5\n";

    #[test]
    fn a_key_is_found_by_its_path_and_by_the_name_of_its_table() {
        let lines = Lines::of(TEXT).unwrap();
        assert_eq!(lines.at(&["name"]), Some(1));
        assert_eq!(lines.at(&["control", "limt"]), Some(6));
        assert_eq!(lines.at(&["factor", "0", "level", "1", "rate"]), Some(13));
        assert_eq!(lines.at(&["factor", "0", "level", "2", "rate"]), None);
        assert_eq!(lines.of_key("[control]", "limt"), Some(6));
        assert_eq!(lines.of_key("somewhere else", "rate"), Some(13));
        assert_eq!(lines.of_key("somewhere else", "name"), None, "there are four");
        assert!(Lines::of("name = ").is_none());
    }

    #[test]
    fn a_table_of_a_list_is_meant_by_its_number_or_name_and_the_top_by_what_the_file_is() {
        let text = "name = 's'\nsize = 1\n[[disk]]\nname = 'a'\nsize = 2\n[[disk]]\nname = 'b'\nsize = 3\n";
        let lines = Lines::of(text).unwrap();
        let found = ["share", "disk 1", "disk `b`", "disk 3"].map(|entry| lines.of_key(entry, "size"));
        assert_eq!(found, [Some(2), Some(5), Some(8), None]);
    }
}
