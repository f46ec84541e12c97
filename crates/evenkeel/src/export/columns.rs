//! Tables of CSV, whose fields are values of the rows in JSON.

use evenkeel_lab::csv::field;
use serde_json::Value;

/// Columns in their order: the name of each, and the keys that lead to its value.
#[derive(Default)]
pub struct Columns(Vec<(String, Vec<String>)>);

impl Columns {
    pub fn at(&mut self, name: impl Into<String>, keys: &[&str]) {
        self.0.push((name.into(), keys.iter().map(|key| (*key).to_owned()).collect()));
    }

    /// Columns whose names are the keys of a row.
    pub fn own(&mut self, names: &[&str]) {
        names.iter().for_each(|name| self.at(*name, &[name]));
    }

    /// Four columns of a mean over runs.
    pub fn estimate(&mut self, name: &str, keys: &[&str]) {
        for part in ["mean", "se", "low", "high"] {
            self.at(format!("{name}_{part}"), &[keys, &[part]].concat());
        }
    }

    /// Seven columns of a distribution.
    pub fn times(&mut self, name: &str) {
        for statistic in ["mean_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "p999_ms", "max_ms"] {
            self.at(format!("{name}_{statistic}"), &[name, statistic]);
        }
    }

    /// The line of names, some of which are from the run's own file, then a line for each row.
    pub fn table(&self, rows: impl Iterator<Item = Value>) -> String {
        let line = |fields: Vec<String>| fields.join(",") + "\n";
        let mut out = line(self.0.iter().map(|(name, _)| field(name)).collect());
        out.extend(rows.map(|row| line(self.0.iter().map(|(_, keys)| value(&row, keys)).collect())));
        out
    }
}

/// A text is quoted where it must be, and no formula for a spreadsheet; what is absent, or no number, is an empty field.
fn value(row: &Value, keys: &[String]) -> String {
    match keys.iter().try_fold(row, |value, key| value.get(key)) {
        Some(Value::String(text)) => field(text),
        Some(Value::Bool(flag)) => flag.to_string(),
        Some(Value::Number(number)) => match (number.as_u64(), number.as_f64()) {
            (Some(whole), _) => whole.to_string(),
            (None, number) => number.map_or_else(String::new, |number| number.to_string()),
        },
        _ => String::new(),
    }
}
