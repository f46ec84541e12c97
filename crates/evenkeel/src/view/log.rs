//! Events as lines on stderr: `key=value`, or JSON for machines.

use crate::format::instant;
use serde_json::{Map, Value, json};

/// Form of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// `time=2026-11-23T01:02:03.456Z level=info event=limit from=4 to=5 why="..."`
    #[default]
    Text,
    /// One JSON object a line
    Json,
}

impl Form {
    pub const NAMES: [(&str, Self); 2] = [("text", Self::Text), ("json", Self::Json)];
}

/// An event: its level, its name, and an object of its fields.
pub type Parts = (&'static str, &'static str, Value);

/// One event as a line without its end; `unix_ms` is the time of day.
pub fn line((level, name, fields): Parts, unix_ms: u128, form: Form) -> String {
    let unix_ms = u64::try_from(unix_ms).unwrap_or(u64::MAX);
    let mut all = vec![("time".to_owned(), json!(instant(unix_ms)))];
    if form == Form::Json {
        // A number is what machines compare.
        all.push(("time_ms".to_owned(), json!(unix_ms)));
    }
    all.extend([("level".to_owned(), json!(level)), ("event".to_owned(), json!(name))]);
    if let Value::Object(fields) = fields {
        all.extend(fields);
    }
    match form {
        Form::Json => Value::Object(Map::from_iter(all)).to_string(),
        Form::Text => {
            all.iter().map(|(key, value)| format!("{key}={}", plain(value))).collect::<Vec<_>>().join(" ")
        }
    }
}

/// Words without blanks stand as they are, everything else in quotes.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text)
            if !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic() && c != '"' && c != '=') =>
        {
            text.clone()
        }
        other => other.to_string(),
    }
}
