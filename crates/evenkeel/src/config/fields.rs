//! The keys of a TOML table, taken one by one, so that what is left over is a mistake.

use super::lines::{at_key, located};
use super::units;
use crate::failure::WithHint;
use anyhow::{Context, Result, anyhow, bail, ensure};
use evenkeel_core::Nanos;
use evenkeel_guard::proxy::Address;
use evenkeel_lab::workload::similar;
use std::io;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Greatest limit that makes sense: as many as a server has connections.
pub const LIMIT_MAX: u32 = 100_000;

/// A table under the name that errors call it by.
pub struct Fields {
    entry: String,
    table: Table,
    /// The keys that were asked for, which are all that exist.
    known: Vec<&'static str>,
}

impl Fields {
    /// A table of which errors say, for example, "statement `pay`".
    pub fn new(entry: impl Into<String>, table: Table) -> Self {
        Self { entry: entry.into(), table, known: Vec::new() }
    }

    /// The same for a value, which should be a table.
    pub fn of(entry: impl Into<String>, value: Value) -> Result<Self> {
        let entry = entry.into();
        match value {
            Value::Table(table) => Ok(Self::new(entry, table)),
            other => bail!("{entry}: must be a table of keys, not {}", kind(&other)),
        }
    }

    /// The name that errors call it by.
    pub fn entry(&self) -> &str {
        &self.entry
    }

    /// Calls it by another name from here on.
    pub fn rename(&mut self, entry: impl Into<String>) {
        self.entry = entry.into();
    }

    pub fn optional<T: FromToml>(&mut self, key: &'static str) -> Result<Option<T>> {
        self.known.push(key);
        let Some(value) = self.table.remove(key) else { return Ok(None) };
        let found = match &value {
            // Of the right kind, and out of its range.
            Value::Integer(number) if T::KIND.starts_with("a whole number") => number.to_string(),
            other => kind(other).to_owned(),
        };
        let read = T::from_toml(value);
        read.map(Some).ok_or_else(|| self.at(key, format!("`{key}` must be {}, not {found}", T::KIND)))
    }

    pub fn required<T: FromToml>(&mut self, key: &'static str) -> Result<T> {
        self.optional(key)?.ok_or_else(|| {
            let mistaken = self.table.keys().find(|there| !similar(there, [key]).is_empty());
            let hint = mistaken.map_or(String::new(), |there| format!(" (is `{there}` meant to be it?)"));
            anyhow!("{}: `{key}` is missing{hint}; set it to {}", self.entry, T::KIND)
        })
    }

    /// A limit. What checks it names its range; a number that no limit can be is refused here, as it stands in the file.
    pub fn limit(&mut self, key: &'static str) -> Result<Option<u32>> {
        let Some(number) = self.optional::<i64>(key)? else { return Ok(None) };
        let no_limit = |_| self.at(key, format!("`{key}` must be between 1 and {LIMIT_MAX}, not {number}"));
        u32::try_from(number).map(Some).map_err(no_limit)
    }

    pub fn time(&mut self, key: &'static str) -> Result<Option<Nanos>> {
        let text = match self.optional::<Value>(key)? {
            None => return Ok(None),
            Some(Value::String(text)) => text,
            Some(Value::Integer(number)) => number.to_string(),
            Some(Value::Float(number)) => number.to_string(),
            Some(_) => return Err(self.at(key, format!("`{key}` must be a time, as \"8s\""))),
        };
        units::duration(&text).map(Some).map_err(|error| self.at(key, format!("`{key}`: {error}")))
    }

    pub fn bytes(&mut self, key: &'static str) -> Result<Option<u64>> {
        let Some(text) = self.optional::<String>(key)? else { return Ok(None) };
        units::bytes(&text).map(Some).map_err(|error| self.at(key, format!("`{key}`: {error}")))
    }

    /// A text with a form of its own.
    pub fn text<T>(&mut self, key: &'static str, read: fn(&str) -> Result<T>) -> Result<Option<T>> {
        let text = self.optional::<String>(key)?.as_deref().map(read).transpose();
        text.map_err(|error| self.at(key, format!("`{key}`: {error:#}")))
    }

    /// A text that is one of a few words.
    pub fn one_of<T: Copy>(&mut self, key: &'static str, words: &[(&str, T)]) -> Result<Option<T>> {
        let Some(text) = self.optional::<String>(key)? else { return Ok(None) };
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        let names = || words.iter().map(|(word, _)| format!("{word:?}")).collect::<Vec<_>>().join(", ");
        let unknown = || self.at(key, format!("`{key}` is {text:?}, and must be one of {}", names()));
        found.map(Some).ok_or_else(unknown)
    }

    /// A text, or a list of them; empty where it is missing.
    pub fn texts(&mut self, key: &'static str) -> Result<Vec<String>> {
        let values = match self.optional::<Value>(key)? {
            None => return Ok(Vec::new()),
            Some(Value::Array(values)) => values,
            Some(value) => vec![value],
        };
        let texts = values.into_iter().map(String::from_toml).collect::<Option<_>>();
        texts.ok_or_else(|| self.at(key, format!("`{key}` must be a text or a list of texts")))
    }

    /// An address, or a list of them.
    pub fn addresses(&mut self, key: &'static str) -> Result<Vec<Address>> {
        let texts = self.texts(key)?;
        let read: Result<Vec<Address>, _> = texts.iter().map(|text| text.parse::<Address>()).collect();
        read.map_err(|error| self.at(key, format!("`{key}`: {error}")))
    }

    pub fn section(&mut self, key: &'static str) -> Result<Self> {
        let value = self.optional::<Value>(key)?.unwrap_or_else(|| Value::Table(Table::new()));
        Self::of(key, value)
    }

    /// Refuses what nobody asked for.
    pub fn finish(self) -> Result<()> {
        let Some(unknown) = self.table.keys().next() else { return Ok(()) };
        let hint = match similar(unknown, self.known.iter().copied()).first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known are {}", list(&self.known)),
        };
        Err(self.at(unknown, format!("unknown key `{unknown}`, {hint}")))
    }

    /// An error of one of its keys.
    pub fn at(&self, key: &str, text: String) -> anyhow::Error {
        at_key(&self.entry, key, text)
    }
}

pub fn list(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a text",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    }
}

/// What `parse` makes of the text of a file, which is one of this command's.
///
/// # Errors
/// Names the file and what is wrong with it.
pub fn load<T>(path: &Path, command: &str, parse: impl Fn(&str) -> Result<T>) -> Result<T> {
    let file = path.display().to_string();
    let text = file_text(path).with_context(|| format!("cannot read {file}"));
    let text = match path.exists() {
        true => text?,
        false => text.hint(format!("`evenkeel {command} --print-config > {file}` makes one"))?,
    };
    parse(&text).map_err(|error| located(&file, &text, &error))
}

/// Refuses what a running process would wait for: a pipe has said all that it had to say at the start.
///
/// # Errors
/// Names the file, and says what it has to be.
pub fn can_be_read_again(path: &Path) -> Result<()> {
    let found = std::fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
    ensure!(found.is_file(), "{} is not a file that can be read again", path.display());
    Ok(())
}

/// Replaces a default by what was said, if anything was.
pub fn set<T>(target: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *target = value;
    }
}

/// A type that a key can have.
pub trait FromToml: Sized {
    /// What the value must be, in words.
    const KIND: &'static str;
    /// The value; `None` where it is something else.
    fn from_toml(value: Value) -> Option<Self>;
}

impl FromToml for String {
    const KIND: &'static str = "a text";
    fn from_toml(value: Value) -> Option<Self> {
        if let Value::String(text) = value { Some(text) } else { None }
    }
}

impl FromToml for bool {
    const KIND: &'static str = "true or false";
    fn from_toml(value: Value) -> Option<Self> {
        value.as_bool()
    }
}

impl FromToml for i64 {
    const KIND: &'static str = "a whole number";
    fn from_toml(value: Value) -> Option<Self> {
        value.as_integer()
    }
}

/// Whole numbers that cannot be negative.
macro_rules! whole_numbers {
    ($($number:ty: $kind:literal),*) => {$(
        impl FromToml for $number {
            const KIND: &'static str = $kind;
            fn from_toml(value: Value) -> Option<Self> {
                value.as_integer()?.try_into().ok()
            }
        }
    )*};
}

whole_numbers!(
    u32: "a whole number from 0 to 4294967295",
    u64: "a whole number from 0 up",
    usize: "a whole number from 0 up"
);

impl FromToml for PathBuf {
    const KIND: &'static str = "a text";
    fn from_toml(value: Value) -> Option<Self> {
        String::from_toml(value).map(Self::from)
    }
}

impl FromToml for f64 {
    const KIND: &'static str = "a number";
    fn from_toml(value: Value) -> Option<Self> {
        value.as_float().or_else(|| value.as_integer().map(|number| number as Self))
    }
}

impl FromToml for Value {
    const KIND: &'static str = "a value";
    fn from_toml(value: Value) -> Option<Self> {
        Some(value)
    }
}

impl<T: FromToml> FromToml for Vec<T> {
    const KIND: &'static str = "a list, each of the same kind";
    fn from_toml(value: Value) -> Option<Self> {
        if let Value::Array(values) = value { values.into_iter().map(T::from_toml).collect() } else { None }
    }
}

/// A study, a workload, a scenario or a configuration is never larger, by far.
const BYTES_MAX: u64 = 4 << 20;

/// The bytes of a file.
///
/// # Errors
/// It cannot be read, has more than a few megabytes, or is a pipe, a device or a folder.
pub fn file_bytes(path: &Path) -> io::Result<Vec<u8>> {
    evenkeel_os::read_whole(path, BYTES_MAX)
}

/// The text of a file.
///
/// # Errors
/// As [`file_bytes`]; or it is no text, and then the first byte that is none is named.
pub fn file_text(path: &Path) -> io::Result<String> {
    let no_text = |error: std::string::FromUtf8Error| {
        let at = error.utf8_error().valid_up_to();
        io::Error::new(io::ErrorKind::InvalidData, format!("it is not UTF-8 text, from byte {at} on"))
    };
    String::from_utf8(file_bytes(path)?).map_err(no_text)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// The keys that the error of an unknown one lists.
    pub fn known(error: &anyhow::Error) -> Vec<String> {
        let text = error.to_string();
        let (_, keys) = text.split_once("known are ").unwrap_or_else(|| panic!("{text}"));
        keys.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }

    /// Flags of a command, with a file of this text behind --config; the file goes with the folder.
    pub fn flags<F: clap::Args>(text: &str, words: &[&str]) -> (tempfile::TempDir, F) {
        #[derive(clap::Parser)]
        struct Line<F: clap::Args> {
            #[command(flatten)]
            flags: F,
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.toml");
        std::fs::write(&path, text).unwrap();
        let line = [&["evenkeel", "--config", path.to_str().unwrap()], words].concat();
        (folder, <Line<F> as clap::Parser>::parse_from(line).flags)
    }

    /// An example with the keys that it shows behind `#:`, because they have no default.
    pub fn uncommented(example: &str) -> String {
        example.lines().map(|line| format!("{}\n", line.strip_prefix("#: ").unwrap_or(line))).collect()
    }

    #[test]
    fn what_never_ends_and_what_is_no_text_are_refused() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("study.toml");
        std::fs::write(&file, b"name\xff").unwrap();
        let error = file_text(&file).unwrap_err().to_string();
        assert!(error.contains("byte 4"), "{error}");
        let error = file_text(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(error.contains("a pipe or a device"), "{error}");
        std::fs::write(&file, vec![b'#'; BYTES_MAX as usize + 1]).unwrap();
        assert!(file_text(&file).unwrap_err().to_string().contains("more than"));
    }
}
