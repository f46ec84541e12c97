//! The keys of a TOML table, taken one by one, so that what is left over is a mistake.

use super::lines::{at_key, located};
use super::masked;
use super::types::{At, FromToml};
use crate::failure::WithHint;
use anyhow::{Context, Result, anyhow, bail, ensure};
use evenkeel_lab::workload::similar;
use std::io;
use std::path::Path;
use toml::{Table, Value};

/// A table under the name that errors call it by.
pub struct Fields {
    entry: String,
    table: Table,
    /// The keys that were asked for, which are all that exist.
    known: Vec<&'static str>,
}

impl Fields {
    /// The table that a value should be; errors call it by this name.
    pub fn of(entry: &str, value: Value) -> Result<Self> {
        match value {
            Value::Table(table) => Ok(Self { entry: entry.to_owned(), table, known: Vec::new() }),
            _ => bail!("{entry}: must be a table of keys"),
        }
    }

    pub fn optional<T: FromToml>(&mut self, key: &'static str) -> Result<Option<T>> {
        self.known.push(key);
        let at = At { entry: &self.entry, key };
        self.table.remove(key).map(|value| T::from_toml(value, at)).transpose()
    }

    pub fn required<T: FromToml>(&mut self, key: &'static str) -> Result<T> {
        self.optional(key)?.ok_or_else(|| {
            let mistaken = self.table.keys().find(|there| !similar(there, [key]).is_empty());
            let hint =
                mistaken.map_or(String::new(), |there| format!(" (is `{there}` a misspelling of it?)"));
            anyhow!("{}: `{key}` is missing{hint}; set it to {}", self.entry, T::KIND)
        })
    }

    /// The keys that nobody asked for, where they may be any.
    pub fn rest(self) -> Table {
        self.table
    }

    /// Refuses what nobody asked for.
    pub fn finish(self) -> Result<()> {
        let Some(key) = self.table.keys().next() else { return Ok(()) };
        Err(at_key(&self.entry, key, unknown("key", key, &self.known)))
    }
}

/// What to say of a name that is not among the known ones.
pub fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    match similar(name, known.iter().copied()).first() {
        Some(near) => format!("unknown {what} `{name}`, did you mean `{near}`?"),
        None => format!("unknown {what} `{name}`, known are {}", list(known)),
    }
}

pub fn list(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// How a struct is read from a table: its keys, with their names in the file where they are others, and with their defaults
/// unless they have to be there.
macro_rules! table {
    ($table:ty { $($key:ident $(as $name:literal)? $(= $default:expr)?),* $(,)? }) => {
        impl $crate::config::types::FromToml for $table {
            fn from_toml(value: toml::Value, at: $crate::config::types::At<'_>) -> anyhow::Result<Self> {
                let mut fields = $crate::config::fields::Fields::of(at.key, value)?;
                let read = Self {
                    $($key: table!(@read fields, table!(@name $key $($name)?) $(, $default)?),)*
                };
                fields.finish().map(|()| read)
            }
        }
    };
    (@name $key:ident) => { stringify!($key) };
    (@name $key:ident $name:literal) => { $name };
    (@read $fields:ident, $key:expr) => { $fields.required($key)? };
    (@read $fields:ident, $key:expr, $default:expr) => { $fields.optional($key)?.unwrap_or_else(|| $default) };
    (@default) => { Default::default() };
    (@default $default:expr) => { $default };
}

/// Structs that are read from tables, with the defaults in one place; `in` gives what goes before their keys where those of several
/// tables are named together.
macro_rules! keys {
    ($($(#[$about:meta])* $table:ident in $prefix:literal {
        $($(#[$doc:meta])* $key:ident $(as $name:literal)?: $type:ty $(= $default:expr)?,)*
    })*) => {$(
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $table { $($(#[$doc])* pub $key: $type,)* }

        impl Default for $table {
            fn default() -> Self {
                Self { $($key: table!(@default $($default)?),)* }
            }
        }

        table!($table { $($key $(as $name)? $(= $default)?),* });

        impl $crate::config::fields::Keys for $table {
            fn differing(&self, other: &Self) -> Vec<&'static str> {
                let keys = [$((self.$key != other.$key)
                    .then_some(concat!($prefix, table!(@name $key $($name)?)))),*];
                keys.into_iter().flatten().collect()
            }
        }
    )*};
}

/// A table of keys that is a struct of its own.
pub trait Keys {
    /// The names of the keys that differ.
    fn differing(&self, other: &Self) -> Vec<&'static str>;
}

/// What a text of TOML says, which errors call by this name.
/// Errors: names the key and what to do.
pub fn parse<T: FromToml>(entry: &str, text: &str) -> Result<T> {
    let table: Table = text.parse().map_err(|error| masked::no_toml(&error))?;
    T::from_toml(Value::Table(table), At { entry, key: entry })
}

/// What `parse` makes of the text of a file, which is one of this command's.
/// Errors: names the file and what is wrong with it.
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
/// Errors: names the file, and says what it has to be.
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

/// A study, a workload, a scenario or a configuration is never larger, by far.
const BYTES_MAX: u64 = 4 << 20;

/// The bytes of a file.
/// Errors: it cannot be read, has more than a few megabytes, or is a pipe, a device or a folder.
pub fn file_bytes(path: &Path) -> io::Result<Vec<u8>> {
    evenkeel_os::read_whole(path, BYTES_MAX)
}

/// The text of a file.
/// Errors: as [`file_bytes`]; or it is not UTF-8, and then the first byte that is not is named.
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
    use evenkeel_core::Nanos;
    use evenkeel_guard::proxy::Address;

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

    keys! {
        File in "" {
            times: Vec<Nanos> = Vec::new(),
            one: Vec<One> = Vec::new(),
        }

        One in "" {
            name: String,
            at as "address": Vec<Address> = Vec::new(),
            most: u32 = 1,
        }
    }

    #[test]
    fn one_of_a_list_is_called_by_its_name_or_its_number() {
        for (text, expected) in [
            ("times = ['1s', 2]", "file: `times 2` must be a time with its unit, as \"8s\", not 2"),
            ("times = ['1s', '2']", "file: `times 2`: \"2\" has no unit"),
            ("times = '1s'", "file: `times` must be a list, and is of type string"),
            ("[[one]]\nmost = 2", "one 1: `name` is missing; set it to a text"),
            ("[[one]]\nname = 'a'\nmost = -1", "one `a`: `most` must be a whole number from 0 to 4294967295"),
            ("[[one]]\nname = 'a'\nat = 'x:1'", "one `a`: unknown key `at`, "),
            ("one = [5]", "one 1: must be a table of keys"),
        ] {
            let error = parse::<File>("file", text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        let file: File = parse("file", "[[one]]\nname = 'a'\naddress = 'x:1'").unwrap();
        assert_eq!((file.one[0].at.len(), file.one[0].most), (1, 1));
    }
}
