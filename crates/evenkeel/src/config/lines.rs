//! On which line of a file a key stands, for errors that are found once its text has become a table.

use anyhow::anyhow;
use std::fmt;
use toml::de::{DeTable, DeValue};

/// An error of a key, whose line is found where the text is at hand.
#[derive(Debug)]
pub struct AtKey {
    /// The name that errors call its table by.
    pub entry: String,
    /// The key in that table, as it is written in the file.
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

/// An error of a file, with its line where it is that of a key.
pub fn located(file: &str, text: &str, error: &anyhow::Error) -> anyhow::Error {
    let key = error.downcast_ref::<AtKey>();
    match key.and_then(|at| Lines::of(text)?.of_key(&at.entry, &at.key)) {
        Some(line) => anyhow!("{file}:{line}: {error}"),
        None => anyhow!("{file}: {error}"),
    }
}

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

    /// The line of a key of the table that errors call so; `None` where several tables that may be meant have it.
    pub fn of_key(&self, entry: &str, key: &str) -> Option<usize> {
        let mut found = Vec::new();
        self.search(&self.table, "", key, &mut found);
        let is_meant = |name: &str| !name.is_empty() && entry.contains(name);
        let meant: Vec<usize> =
            found.iter().filter(|(name, _)| is_meant(name)).map(|(_, line)| *line).collect();
        match (meant.as_slice(), found.as_slice()) {
            ([line], _) | ([], [(_, line)]) => Some(*line),
            _ => None,
        }
    }

    /// Every table that has the key, by the table's own name.
    fn search(&self, table: &DeTable<'_>, name: &str, key: &str, found: &mut Vec<(String, usize)>) {
        found.extend(self.line_in(table, key).map(|line| (name.to_owned(), line)));
        for (own, value) in table {
            self.search_value(value.get_ref(), own.get_ref(), key, found);
        }
    }

    fn search_value(&self, value: &DeValue<'_>, name: &str, key: &str, found: &mut Vec<(String, usize)>) {
        match value {
            DeValue::Table(inner) => self.search(inner, name, key, found),
            DeValue::Array(values) => {
                values.iter().for_each(|value| self.search_value(value.get_ref(), name, key, found));
            }
            _ => {}
        }
    }

    fn line_in(&self, table: &DeTable<'_>, key: &str) -> Option<usize> {
        let (own, _) = table.get_key_value(key)?;
        Some(1 + self.text.get(..own.span().start)?.matches('\n').count())
    }
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
}
