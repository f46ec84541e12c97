use super::plural;
use std::collections::BTreeMap;
use std::fmt;

/// Characters of a server's text that are shown; a statement that it repeats may be as long as it likes.
const TEXT_MAX: usize = 200;

/// Errors that are named; the rest is counted.
const NAMED_MAX: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedBy {
    /// Number of the error, as the server gives it; above 2000 it is the client's own, 2013 a lost connection.
    pub code: u16,
    pub count: u64,
    /// The server's own words, in one line; empty where none were kept.
    pub text: String,
}

impl FailedBy {
    pub fn all(failed: &BTreeMap<u16, u64>, texts: &BTreeMap<u16, String>) -> Vec<Self> {
        let of = |(&code, &count): (&u16, &u64)| {
            let text = texts.get(&code).map_or_else(String::new, |text| one_line(text));
            Self { code, count, text }
        };
        let mut errors: Vec<Self> = failed.iter().map(of).collect();
        errors.sort_by_key(|error| (std::cmp::Reverse(error.count), error.code));
        errors
    }

    /// `150 times error 1146 “Table 'shop.item' doesn't exist”, 2 times error 1213`: the most frequent of errors that are
    /// in that order, and how many others there are.
    pub fn words(errors: &[Self]) -> String {
        let (named, others) = errors.split_at(errors.len().min(NAMED_MAX));
        let mut words: Vec<String> = named.iter().map(ToString::to_string).collect();
        if !others.is_empty() {
            let count: u64 = others.iter().map(|error| error.count).sum();
            words.push(format!("{} one of {} other errors", plural(count, "time", "times"), others.len()));
        }
        words.join(", ")
    }
}

impl fmt::Display for FailedBy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} error {}", plural(self.count, "time", "times"), self.code)?;
        if self.text.is_empty() { Ok(()) } else { write!(out, " “{}”", self.text) }
    }
}

/// A text of any server in one line of bounded length, without the quotes that it is put into: whoever shows or parts it
/// need not fear it.
fn one_line(text: &str) -> String {
    let plain: String = text
        .chars()
        .take(4 * TEXT_MAX)
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    let line = words.join(" ").replace(['“', '”'], "\"");
    match line.char_indices().nth(TEXT_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_by_how_often_they_came_with_number_and_words() {
        let failed = BTreeMap::from([(1064, 1), (1146, 150), (1205, 2), (1213, 2), (2013, 1)]);
        let texts = BTreeMap::from([(1146, "Table 'shop.item'\n doesn't exist".to_owned())]);
        let words = FailedBy::words(&FailedBy::all(&failed, &texts));
        assert_eq!(
            words,
            "150 times error 1146 “Table 'shop.item' doesn't exist”, 2 times error 1205, 2 times error 1213, 2 times \
             one of 2 other errors"
        );
        assert_eq!(FailedBy::words(&[]), "");
    }

    #[test]
    fn no_text_of_a_server_is_longer_than_a_line_or_ends_its_own_quotes() {
        let texts = BTreeMap::from([(1, format!("“a” {}\u{1b}[31m", "ä".repeat(10_000)))]);
        let errors = FailedBy::all(&BTreeMap::from([(1, 1)]), &texts);
        assert_eq!(errors[0].text.chars().count(), TEXT_MAX + 1);
        assert!(errors[0].text.starts_with("\"a\" ä") && errors[0].text.ends_with('…'));
        assert_eq!(errors[0].to_string().matches('“').count(), 1);
    }
}
