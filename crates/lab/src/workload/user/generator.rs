//! Where the parameters of a user's statements come from.

use super::super::{set_text, set_value};
use super::ColumnReader;
use crate::workload::Value;
use evenkeel_core::Nanos;
use evenkeel_core::distribution::{WeightedChoice, Zipf};
use evenkeel_core::random::Random;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};

/// How a parameter is drawn, as the user wrote it.
#[derive(Clone, Debug, PartialEq)]
pub enum Generator {
    /// A whole number from `min` to `max`, each as likely.
    Uniform { min: i64, max: i64 },
    /// Rank 1 to `n`, rank k with a weight of k to the power of -`exponent`.
    Zipf { n: u64, exponent: f64 },
    /// `start`, `start + step`, `start + 2 step` ...: one counter for all clients of the workload, so that no
    /// two ever draw the same number.
    Sequence { start: i64, step: i64 },
    /// One of these values, each as likely where they have no weights.
    Choice { values: Vec<Value>, weights: Option<Vec<f64>> },
    /// One of the values that a column has when the run begins, each row as likely.
    Column { table: String, column: String, limit: u64 },
    /// A sequence that begins above the highest number that a column has when the run begins.
    Next { table: String, column: String },
    /// Letters and digits, `min` to `max` of them.
    Text { min: u64, max: u64 },
    /// Always this value.
    Constant(Value),
}

/// A generator made ready to draw; shared by all clients.
#[derive(Debug)]
pub(super) enum Source {
    Uniform { min: i64, span: u64 },
    Zipf(Zipf),
    Sequence { next: AtomicI64, step: i64 },
    Values { values: Vec<Value>, choice: Option<WeightedChoice> },
    Text { min: u64, max: u64 },
    Constant(Value),
}

/// Most characters of a random text: what a VARCHAR holds.
const TEXT_MAX: u64 = 65_535;
const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

impl Source {
    /// Makes a generator ready. The error says what is wrong and what would be right.
    pub fn new(generator: &Generator, reader: &mut dyn ColumnReader) -> Result<Self, String> {
        let mut read = |table: &str, column: &str, limit: Option<u64>| {
            let read = match reader.read_column(table, column, limit) {
                Ok(values) if values.is_empty() && limit.is_some() => {
                    Err("no row, so there is nothing to draw from".to_owned())
                }
                read => read,
            };
            read.map_err(|problem| {
                let is_unknown = problem.contains("Unknown column");
                let names = if is_unknown {
                    format!("; SHOW COLUMNS FROM {table} lists the names")
                } else {
                    String::new()
                };
                format!("cannot read the values of {table}.{column}: {problem}{names}")
            })
        };
        match generator {
            Generator::Uniform { min, max } => {
                ordered(min, max)?;
                Ok(Self::Uniform { min: *min, span: max.wrapping_sub(*min) as u64 })
            }
            Generator::Zipf { n, exponent } => {
                Zipf::new(*n, *exponent).map(Self::Zipf).map_err(|error| error.to_string())
            }
            Generator::Sequence { step: 0, .. } => {
                Err("`step` is 0, so the sequence would not move; set it to 1, for example".into())
            }
            Generator::Sequence { start, step } => {
                Ok(Self::Sequence { next: AtomicI64::new(*start), step: *step })
            }
            Generator::Choice { values, weights } => choice(values, weights.as_deref()),
            Generator::Column { table, column, limit } => {
                Ok(Self::Values { values: read(table, column, Some(*limit))?, choice: None })
            }
            Generator::Next { table, column } => {
                let highest = read(table, column, None)?.first().map_or(Some(0), Value::as_int);
                let highest = highest.ok_or_else(|| format!("{table}.{column} has no whole numbers"))?;
                Ok(Self::Sequence { next: AtomicI64::new(highest.saturating_add(1)), step: 1 })
            }
            Generator::Text { min, max } => {
                ordered(min, max)?;
                if *max > TEXT_MAX {
                    return Err(format!("`max` is {max}, but a text has at most {TEXT_MAX} characters"));
                }
                Ok(Self::Text { min: *min, max: *max })
            }
            Generator::Constant(value) => Ok(Self::Constant(value.clone())),
        }
    }

    /// Draws into `slot`, whose buffer a text takes over.
    pub fn draw(&self, random: &mut Random, slot: &mut Value) {
        match self {
            Self::Uniform { min, span } => {
                *slot = Value::Int(min.wrapping_add(random.uniform(0, *span) as i64));
            }
            Self::Zipf(zipf) => *slot = Value::Int(i64::try_from(zipf.draw(random)).unwrap_or(i64::MAX)),
            Self::Sequence { next, step } => *slot = Value::Int(next.fetch_add(*step, Ordering::Relaxed)),
            Self::Values { values, choice } => {
                let index = match choice {
                    Some(choice) => choice.draw(random),
                    None => random.uniform(0, values.len() as u64 - 1) as usize,
                };
                set_value(slot, &values[index]);
            }
            Self::Text { min, max } => set_text(slot, |buffer| {
                let length = random.uniform(*min, *max);
                buffer.extend((0..length).map(|_| ALPHABET[random.uniform(0, 35) as usize]));
            }),
            Self::Constant(value) => set_value(slot, value),
        }
    }
}

fn ordered<T: PartialOrd + std::fmt::Display>(min: &T, max: &T) -> Result<(), String> {
    if min <= max {
        Ok(())
    } else {
        Err(format!("`min` is {min} and `max` is {max}; `max` must not be below"))
    }
}

fn choice(values: &[Value], weights: Option<&[f64]>) -> Result<Source, String> {
    if values.is_empty() {
        return Err("`values` is empty; give at least one".into());
    }
    if let Some(weights) = weights.filter(|weights| weights.len() != values.len()) {
        return Err(format!("{} values but {} weights; give one for each", values.len(), weights.len()));
    }
    let choice = weights.map(WeightedChoice::new).transpose().map_err(|error| error.to_string())?;
    Ok(Source::Values { values: values.to_vec(), choice })
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Definition {
    pub name: String,
    pub statements: Vec<StatementDefinition>,
    pub transactions: Vec<TransactionDefinition>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatementDefinition {
    pub name: String,
    /// Text with `?` or `:name` for each parameter, not both.
    pub sql: String,
    /// How often it is asked by itself, against all other weights; where it is not said, 1, or 0 for a
    /// statement that a transaction names.
    pub weight: Option<f64>,
    /// Where the parameters come from.
    pub parameters: ParameterDefinitions,
    /// How long a client waits inside a transaction before it asks this one.
    pub pause: Nanos,
    /// Tables it touches, for sizing the buffer pool; where it is not said they are looked for in `sql`.
    pub tables: Option<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ParameterDefinitions {
    /// One for each `?`, in their order.
    Positional(Vec<Generator>),
    /// One for each name.
    Named(BTreeMap<String, Generator>),
    /// Values that belong together, one for each `?`: an execution has one of these rows.
    Rows(Vec<Vec<Value>>),
}

impl Default for ParameterDefinitions {
    fn default() -> Self {
        Self::Positional(Vec::new())
    }
}

/// A transaction as written: BEGIN, its statements, COMMIT.
#[derive(Clone, Debug, PartialEq)]
pub struct TransactionDefinition {
    pub name: String,
    /// How often it is asked, against all other weights.
    pub weight: f64,
    /// Names of its statements, in their order.
    pub statements: Vec<String>,
    /// Parameters drawn once for each transaction and given to every statement that names them.
    pub parameters: BTreeMap<String, Generator>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::random::Seed;

    struct Counted;

    impl ColumnReader for Counted {
        fn read_column(&mut self, _: &str, _: &str, limit: Option<u64>) -> Result<Vec<Value>, String> {
            Ok((0..limit.unwrap_or(1) as i64).map(Value::Int).collect())
        }
    }

    fn source(generator: &Generator) -> Result<Source, String> {
        Source::new(generator, &mut Counted)
    }

    fn draws(generator: Generator, count: usize) -> Vec<Value> {
        let (source, mut random) = (source(&generator).unwrap(), Random::new(Seed(6)));
        let mut slot = Value::Null;
        (0..count)
            .map(|_| {
                source.draw(&mut random, &mut slot);
                slot.clone()
            })
            .collect()
    }

    fn ints(generator: Generator) -> (i64, i64) {
        let values: Vec<i64> = draws(generator, 20_000).iter().map(|value| value.as_int().unwrap()).collect();
        (*values.iter().min().unwrap(), *values.iter().max().unwrap())
    }

    #[test]
    fn whole_numbers_cover_their_range_and_nothing_else() {
        assert_eq!(ints(Generator::Uniform { min: -3, max: 3 }), (-3, 3));
        assert_eq!(ints(Generator::Zipf { n: 5, exponent: 1.0 }), (1, 5));
        assert_eq!(ints(Generator::Column { table: "t".into(), column: "c".into(), limit: 4 }), (0, 3));
        let (low, high) = ints(Generator::Uniform { min: i64::MIN, max: i64::MAX });
        assert!(low < -(1 << 60) && high > 1 << 60);
    }

    #[test]
    fn a_sequence_counts_in_steps() {
        let values = draws(Generator::Sequence { start: 10, step: -5 }, 3);
        assert_eq!(values, [Value::Int(10), Value::Int(5), Value::Int(0)]);
    }

    #[test]
    fn weights_set_the_shares_of_a_choice() {
        let values = vec![Value::Int(1), Value::Text(b"b".to_vec())];
        let drawn = draws(Generator::Choice { values, weights: Some(vec![3.0, 1.0]) }, 10_000);
        let ones = drawn.iter().filter(|value| **value == Value::Int(1)).count();
        assert!((7_300..7_700).contains(&ones), "{ones}");
    }

    #[test]
    fn texts_have_lengths_in_range() {
        for value in draws(Generator::Text { min: 2, max: 4 }, 100) {
            let Value::Text(text) = value else { panic!("no text") };
            assert!((2..=4).contains(&text.len()));
        }
    }

    #[test]
    fn what_cannot_be_drawn_is_refused_in_words() {
        let cases = [
            (Generator::Uniform { min: 2, max: 1 }, "`max` must not be below"),
            (Generator::Zipf { n: 0, exponent: 1.0 }, "0"),
            (Generator::Sequence { start: 1, step: 0 }, "`step` is 0"),
            (Generator::Choice { values: vec![], weights: None }, "`values` is empty"),
            (
                Generator::Choice { values: vec![Value::Null], weights: Some(vec![]) },
                "1 values but 0 weights",
            ),
            (Generator::Choice { values: vec![Value::Null], weights: Some(vec![0.0]) }, "weights"),
            (Generator::Text { min: 1, max: 100_000 }, "at most 65535"),
        ];
        for (generator, words) in cases {
            let error = source(&generator).unwrap_err();
            assert!(error.contains(words), "{generator:?}: {error}");
        }
    }
}
