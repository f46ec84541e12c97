//! Generators of parameters as TOML has them: a table with one key, the name of the generator.

use super::fields::{Fields, list, unknown};
use super::types::{At, FromToml};
use anyhow::{Result, bail, ensure};
use evenkeel_lab::workload::Value;
use evenkeel_lab::workload::user::{COLUMN_LIMIT, Generator};
use std::collections::BTreeMap;
use toml::Value as Toml;

/// Names of all generators.
const NAMES: [&str; 8] = ["uniform", "zipf", "sequence", "choice", "column", "next", "string", "constant"];

/// Reads a generator; `entry` for example "statement `pay`, parameter `id`".
pub fn read(entry: &str, value: Toml) -> Result<Generator> {
    let Toml::Table(table) = value else {
        bail!("{entry}: must name a generator, for example {{ uniform = {{ min = 1, max = 100 }} }}");
    };
    let mut entries = table.into_iter();
    let (Some((name, value)), None) = (entries.next(), entries.next()) else {
        bail!("{entry}: must name one generator; known are {}", list(&NAMES));
    };
    if name == "constant" {
        return Value::from_toml(value, At { entry, key: &name }).map(Generator::Constant);
    }
    ensure!(NAMES.contains(&name.as_str()), "{entry}: {}", unknown("generator", &name, &NAMES));
    let entry = format!("{entry}, `{name}`");
    let mut keys = Fields::of(&entry, value)?;
    let generator = match name.as_str() {
        "uniform" => Generator::Uniform { min: keys.required("min")?, max: keys.required("max")? },
        "zipf" => Generator::Zipf { n: keys.required("n")?, exponent: keys.required("exponent")? },
        "sequence" => {
            let (start, step) = (keys.optional("start")?, keys.optional("step")?);
            Generator::Sequence { start: start.unwrap_or(1), step: step.unwrap_or(1) }
        }
        "choice" => {
            Generator::Choice { values: keys.required("values")?, weights: keys.optional("weights")? }
        }
        "next" => Generator::Next { table: keys.required("table")?, column: keys.required("column")? },
        "string" => Generator::Text { min: keys.required("min")?, max: keys.required("max")? },
        _ => {
            let (table, column) = (keys.required("table")?, keys.required("column")?);
            let limit = keys.optional("limit")?.unwrap_or(COLUMN_LIMIT);
            ensure!(limit > 0, "{entry}: `limit` is 0, so nothing would be read; set it to 1 or more");
            Generator::Column { table, column, limit }
        }
    };
    keys.finish().map(|()| generator)
}

impl FromToml for Generator {
    const KIND: &'static str = "a generator";
    fn from_toml(value: Toml, at: At<'_>) -> Result<Self> {
        read(&format!("{}, {}", at.entry, at.key), value)
    }
}

/// Generators of parameters by their names.
impl FromToml for BTreeMap<String, Generator> {
    const KIND: &'static str = "a table of generators by name";
    fn from_toml(value: Toml, at: At<'_>) -> Result<Self> {
        let Toml::Table(table) = value else { return Err(at.must_be(Self::KIND, &value)) };
        let one = |(name, value)| {
            let generator = read(&format!("{}, parameter `{name}`", at.entry), value)?;
            Ok((name, generator))
        };
        table.into_iter().map(one).collect()
    }
}

/// A value for SQL.
impl FromToml for Value {
    const KIND: &'static str = "a text, a number, a date, true or false";
    fn from_toml(value: Toml, at: At<'_>) -> Result<Self> {
        Ok(match value {
            Toml::String(text) => Self::Text(text.into_bytes()),
            Toml::Integer(number) => Self::Int(number),
            Toml::Float(number) => Self::Double(number),
            Toml::Boolean(truth) => Self::Int(truth.into()),
            Toml::Datetime(moment) => Self::Text(moment.to_string().replace('T', " ").into_bytes()),
            Toml::Array(_) | Toml::Table(_) => return Err(at.must_be(Self::KIND, &value)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Generator> {
        let mut table: toml::Table = format!("p = {text}").parse().unwrap();
        read("parameter `p`", table.remove("p").unwrap())
    }

    #[test]
    fn every_generator_is_read() {
        let text = |text: &str| Value::Text(text.into());
        for (toml, generator) in [
            ("{ uniform = { min = -1, max = 5 } }", Generator::Uniform { min: -1, max: 5 }),
            ("{ zipf = { n = 10, exponent = 1 } }", Generator::Zipf { n: 10, exponent: 1.0 }),
            ("{ sequence = {} }", Generator::Sequence { start: 1, step: 1 }),
            (
                "{ choice = { values = [\"a\", 2, 0.5, true, 2024-05-01], weights = [1, 2, 3.5, 0, 1] } }",
                Generator::Choice {
                    values: vec![
                        text("a"),
                        Value::Int(2),
                        Value::Double(0.5),
                        Value::Int(1),
                        text("2024-05-01"),
                    ],
                    weights: Some(vec![1.0, 2.0, 3.5, 0.0, 1.0]),
                },
            ),
            (
                "{ column = { table = \"t\", column = \"c\" } }",
                Generator::Column { table: "t".into(), column: "c".into(), limit: 10_000 },
            ),
            (
                "{ next = { table = \"t\", column = \"c\" } }",
                Generator::Next { table: "t".into(), column: "c".into() },
            ),
            ("{ string = { min = 1, max = 9 } }", Generator::Text { min: 1, max: 9 }),
            ("{ constant = \"x\" }", Generator::Constant(text("x"))),
        ] {
            assert_eq!(parse(toml).unwrap(), generator, "{toml}");
        }
    }

    #[test]
    fn mistakes_are_named_with_what_to_do() {
        for (toml, words) in [
            ("5", "must name a generator, for example"),
            ("{ unifrom = { min = 1, max = 2 } }", "unknown generator `unifrom`, did you mean `uniform`?"),
            ("{ uniform = { min = 1, mx = 2 } }", "`max` is missing (is `mx` a misspelling of it?)"),
            ("{ uniform = { min = 1, max = 2.5 } }", "`max` must be a whole number"),
            ("{ uniform = { min = 1, max = 2, step = 1 } }", "unknown key `step`, known are `min`, `max`"),
            ("{ string = { min = -1, max = 2 } }", "`min` must be a whole number from 0 up, not -1"),
            ("{ column = { table = \"t\", column = \"c\", limit = 0 } }", "`limit` is 0"),
        ] {
            let error = parse(toml).unwrap_err().to_string();
            assert!(error.starts_with("parameter `p`") && error.contains(words), "{toml}: {error}");
        }
    }
}
