//! On which line of a file a key stands, for errors that are found once its text has become a table.

use anyhow::anyhow;
use std::fmt;

/// An error of a key, whose line is found where the text is at hand.
#[derive(Debug)]
struct AtKey {
    /// Of a list with the number of one.
    key: String,
    told: String,
}

impl fmt::Display for AtKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.told)
    }
}

impl std::error::Error for AtKey {}

/// What is wrong with the value of a key, by the name of its table.
pub fn at_key(entry: &str, key: &str, text: String) -> anyhow::Error {
    AtKey { key: key.to_owned(), told: format!("{entry}: {text}") }.into()
}

/// An error of a file, with its line where it is that of a key.
pub fn located(file: &str, text: &str, error: &anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<AtKey>().and_then(|at| line_of(text, at.key.split(' ').next()?)) {
        Some(line) => anyhow!("{file}:{line}: {error}"),
        None => anyhow!("{file}: {error}"),
    }
}

/// The line that begins with this key; `None` where several tables have it.
fn line_of(text: &str, key: &str) -> Option<usize> {
    let is_of_key = |line: &str| line.split_once('=').is_some_and(|(own, _)| own.trim() == key);
    let mut found = (1..).zip(text.lines()).filter(|(_, line)| is_of_key(line));
    found.next().filter(|_| found.next().is_none()).map(|(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_a_line_where_it_stands_once() {
        let text =
            "name = 'a'\n[guard]\nlisten = 'x'\n\n[control]\n  limt=3 # name = 'b'\n[[disk]]\nname = 'f'\n";
        let found = ["listen", "limt", "name", "disk"].map(|key| line_of(text, key));
        assert_eq!(found, [Some(3), Some(6), None, None]);
    }
}
