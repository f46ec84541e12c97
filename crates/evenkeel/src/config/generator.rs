//! Generators of parameters as TOML has them: a table with one key, the name of the generator.

use super::fields::{Fields, FromToml, list};
use anyhow::{Result, bail};
use evenkeel_lab::workload::Value;
use evenkeel_lab::workload::similar;
use evenkeel_lab::workload::user::{COLUMN_LIMIT, Generator};
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
    let inside = format!("{entry}, `{name}`");
    let fields = |value| Fields::of(inside.clone(), value);
    match name.as_str() {
        "uniform" => two(fields(value)?, ["min", "max"]).map(|(min, max)| Generator::Uniform { min, max }),
        "zipf" => two(fields(value)?, ["n", "exponent"]).map(|(n, exponent)| Generator::Zipf { n, exponent }),
        "sequence" => sequence(fields(value)?),
        "choice" => choice(fields(value)?),
        "column" => column(fields(value)?),
        "next" => {
            two(fields(value)?, ["table", "column"]).map(|(table, column)| Generator::Next { table, column })
        }
        "string" => two(fields(value)?, ["min", "max"]).map(|(min, max)| Generator::Text { min, max }),
        "constant" => Ok(Generator::Constant(scalar(&inside, value)?)),
        unknown => match similar(unknown, NAMES).first() {
            Some(near) => bail!("{entry}: unknown generator `{unknown}`, did you mean `{near}`?"),
            None => bail!("{entry}: unknown generator `{unknown}`, known are {}", list(&NAMES)),
        },
    }
}

/// What has these two keys and no others.
fn two<A: FromToml, B: FromToml>(mut fields: Fields, keys: [&'static str; 2]) -> Result<(A, B)> {
    let found = (fields.required(keys[0])?, fields.required(keys[1])?);
    fields.finish()?;
    Ok(found)
}

fn sequence(mut fields: Fields) -> Result<Generator> {
    let (start, step) = (fields.optional("start")?.unwrap_or(1), fields.optional("step")?.unwrap_or(1));
    fields.finish()?;
    Ok(Generator::Sequence { start, step })
}

fn choice(mut fields: Fields) -> Result<Generator> {
    let values: Vec<Toml> = fields.required("values")?;
    let weights = fields.optional("weights")?;
    let entry = fields.entry().to_owned();
    fields.finish()?;
    let values = values.into_iter().map(|value| scalar(&entry, value)).collect::<Result<_>>()?;
    Ok(Generator::Choice { values, weights })
}

fn column(mut fields: Fields) -> Result<Generator> {
    let (table, column) = (fields.required("table")?, fields.required("column")?);
    let limit = fields.optional("limit")?.unwrap_or(COLUMN_LIMIT);
    if limit == 0 {
        bail!("{}: `limit` is 0, so nothing would be read; set it to 1 or more", fields.entry());
    }
    fields.finish()?;
    Ok(Generator::Column { table, column, limit })
}

/// A value for SQL.
pub fn scalar(entry: &str, value: Toml) -> Result<Value> {
    Ok(match value {
        Toml::String(text) => Value::Text(text.into_bytes()),
        Toml::Integer(number) => Value::Int(number),
        Toml::Float(number) => Value::Double(number),
        Toml::Boolean(truth) => Value::Int(truth.into()),
        Toml::Datetime(moment) => Value::Text(moment.to_string().replace('T', " ").into_bytes()),
        Toml::Array(_) | Toml::Table(_) => bail!("{entry}: must be a text, a number, a date, true or false"),
    })
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
            ("{ uniform = { min = 1, mx = 2 } }", "`max` is missing (is `mx` meant to be it?)"),
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
