//! What a parser of JSON says, for people: which key it is about, and what its value must be.

use serde_json::Error;

/// Types as the parser calls them at the end of what it says, and what they are.
const TYPES: [(&str, &str); 9] = [
    ("f64", "a number"),
    ("u8", "a whole number from 0 to 255"),
    ("u16", "a whole number from 0 to 65535"),
    ("u32", "a whole number from 0 to 4294967295"),
    ("u64", "a whole number from 0 up"),
    ("usize", "a whole number from 0 up"),
    ("i64", "a whole number"),
    ("a string", "a text"),
    ("a boolean", "true or false"),
];

/// What is wrong with a text of JSON, with the key where it is one's value, and without the place in the text.
pub(crate) fn explained(text: &[u8], error: &Error) -> String {
    let told = error.to_string();
    let mut what = told.rsplit_once(" at line ").map_or(told.as_str(), |(what, _)| what).to_owned();
    if let Some((before, expected)) = what.rsplit_once(", expected ")
        && let Some((_, words)) = TYPES.iter().find(|(name, _)| *name == expected)
    {
        what = format!("{before}, expected {words}");
    }
    // A missing key is named by the parser itself, and what is no JSON has no keys to trust.
    let is_of_value = error.is_data() && !what.starts_with("missing field");
    match is_of_value.then(|| key(text, error.line(), error.column())).flatten() {
        Some(key) => format!("`{key}`: {what}"),
        None => what,
    }
}

/// The last key in a line up to a column: a key is a string before a colon.
fn key(text: &[u8], line: usize, column: usize) -> Option<&str> {
    let line = text.split(|byte| *byte == b'\n').nth(line.checked_sub(1)?)?;
    let line = std::str::from_utf8(line.get(..column.min(line.len()))?).ok()?;
    let end = line.rfind("\": ").or_else(|| line.rfind("\":"))?;
    let start = line.get(..end)?.rfind('"')?;
    line.get(start + 1..end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it is only read")]
    struct Inner {
        runs: u32,
        name: String,
    }

    fn told(text: &str) -> String {
        let error = serde_json::from_str::<Vec<Inner>>(text).unwrap_err();
        explained(text.as_bytes(), &error)
    }

    #[test]
    fn the_key_and_what_it_must_be_are_named_however_the_text_is_laid_out() {
        let wrong = "`runs`: invalid value: integer `-1`, expected a whole number from 0 to 4294967295";
        assert_eq!(told(r#"[{"name":"a","runs":-1}]"#), wrong);
        assert_eq!(told("[\n {\n  \"name\": \"a: \",\n  \"runs\": -1\n }\n]"), wrong);
        assert_eq!(
            told("[{\"runs\": 1, \"name\": 7}]"),
            "`name`: invalid type: integer `7`, expected a text"
        );
    }

    #[test]
    fn a_missing_key_is_named_once_and_a_torn_text_has_no_key() {
        assert_eq!(told("[\n{\"runs\": 1}]"), "missing field `name`");
        assert_eq!(told("[{\"runs\": 1, \"name"), "EOF while parsing a string");
    }
}
