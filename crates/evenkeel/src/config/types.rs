//! What the values of a TOML file may be, by the types that they are read as.

use super::lines::at_key;
use super::units;
use crate::view::log::Form;
use anyhow::{Context, Error, Result};
use evenkeel_core::Nanos;
use evenkeel_guard::proxy::Address;
use std::fmt::Debug;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use toml::{Table, Value};

/// A type that a key can have.
pub trait FromToml: Sized {
    /// What the value must be, in words.
    const KIND: &'static str = "a table of keys";
    /// Whether one may stand alone where a list of them is meant.
    const ALONE: bool = false;

    /// The value.
    /// Errors: names the key, and what it must be.
    fn from_toml(value: Value, at: At<'_>) -> Result<Self>;
}

/// A key, and the name that errors call its table by.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    pub entry: &'a str,
    pub key: &'a str,
}

impl At<'_> {
    pub fn wrong(self, words: &str) -> Error {
        at_key(self.entry, self.key, format!("`{}` {words}", self.key))
    }

    /// Refuses what does not hold.
    pub fn ensure(self, holds: bool, words: &str) -> Result<()> {
        if holds { Ok(()) } else { Err(self.wrong(words)) }
    }

    /// Refuses a value out of its range.
    pub fn within<T: PartialOrd + Debug>(self, value: &T, range: RangeInclusive<T>) -> Result<()> {
        let (least, most) = (range.start(), range.end());
        // A file has no other letter for microseconds.
        let words = format!("must be between {least:?} and {most:?}, and is {value:?}").replace('µ', "u");
        self.ensure(range.contains(value), &words)
    }

    /// Of another kind, or a number that the kind does not have.
    pub fn must_be(self, kind: &str, found: &Value) -> Error {
        match found {
            Value::Integer(number) => self.wrong(&format!("must be {kind}, not {number}")),
            other => self.wrong(&format!("must be {kind}, and is of type {}", other.type_str())),
        }
    }

    /// What `read` makes of a value that is of the right kind.
    pub fn read<T: FromToml>(self, value: &Value, read: fn(&Value) -> Option<Result<T>>) -> Result<T> {
        let read = read(value).ok_or_else(|| self.must_be(T::KIND, value))?;
        read.map_err(|error| at_key(self.entry, self.key, format!("`{}`: {error:#}", self.key)))
    }
}

/// Types that are read from single values: what they must be, and how they are read.
macro_rules! types {
    ($($kind:literal $($alone:ident)?: $type:ty = $read:expr;)*) => {$(
        impl $crate::config::types::FromToml for $type {
            const KIND: &'static str = $kind;
            $(const $alone: bool = true;)?
            fn from_toml(value: toml::Value, at: $crate::config::types::At<'_>) -> anyhow::Result<Self> {
                at.read(&value, $read)
            }
        }
    )*};
}

types! {
    "a text": String = |value| Some(Ok(value.as_str()?.to_owned()));
    "a text": PathBuf = |value| Some(Ok(value.as_str()?.into()));
    "true or false": bool = |value| value.as_bool().map(Ok);
    "a whole number": i64 = |value| value.as_integer().map(Ok);
    "a whole number from 0 to 4294967295": u32 = |value| Some(Ok(value.as_integer()?.try_into().ok()?));
    "a whole number from 0 up": u64 = |value| Some(Ok(value.as_integer()?.try_into().ok()?));
    "a whole number from 0 up": usize = |value| Some(Ok(value.as_integer()?.try_into().ok()?));
    "a number": f64 = |value| value.as_float().or(value.as_integer().map(|number| number as f64)).map(Ok);
    "a table": Table = |value| value.as_table().cloned().map(Ok);
    "a value": Value = |value| Some(Ok(value.clone()));
    "a time with its unit, as \"8s\"": Nanos = |value| value.as_str().map(units::duration);
    "a size, as \"64M\"": Size = |value| Some(units::bytes(value.as_str()?).map(Size));
    "an address, as \"127.0.0.1:3307\"" ALONE: Address = |value| Some(value.as_str()?.parse().map_err(Error::from));
    "a text": Form = |value| Some(one_of(value.as_str()?, &Form::NAMES));
}

/// Bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size(pub u64);

/// A text that is one of a few words.
pub fn one_of<T: Copy>(text: &str, words: &[(&str, T)]) -> Result<T> {
    let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
    let words = || words.iter().map(|(word, _)| format!("{word:?}")).collect::<Vec<_>>().join(", ");
    found.with_context(|| format!("must be one of {}, not {text:?}", words()))
}

impl<T: FromToml> FromToml for Option<T> {
    const KIND: &'static str = T::KIND;
    fn from_toml(value: Value, at: At<'_>) -> Result<Self> {
        T::from_toml(value, at).map(Some)
    }
}

impl<T: FromToml> FromToml for Vec<T> {
    const KIND: &'static str = "a list";
    fn from_toml(value: Value, at: At<'_>) -> Result<Self> {
        let values = match value {
            Value::Array(values) => values,
            alone if T::ALONE => return Ok(vec![T::from_toml(alone, at)?]),
            other => return Err(at.must_be(Self::KIND, &other)),
        };
        let one = |(number, value): (usize, Value)| {
            // A table that has a name is called by it.
            let name = value.get("name").and_then(Value::as_str).map(|name| format!("`{name}`"));
            let key = format!("{} {}", at.key, name.unwrap_or_else(|| number.to_string()));
            T::from_toml(value, At { key: &key, ..at })
        };
        (1..).zip(values).map(one).collect()
    }
}
