//! A row as a line that `LOAD DATA` reads.

use crate::table::{Found, quoted};
use crate::{HaulError, refused};
use serde::{Deserialize, Serialize};
use std::fs;
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;
use xxhash_rust::xxh3::xxh3_128;

pub(super) const DELIMITER: u8 = b';';

/// What is asked of a table for these fields of a line; the column that it has not got, as an error.
pub(super) fn select(table: &Found, columns: &[String]) -> Result<String, String> {
    let part = |name: &String| {
        let found = table.columns.iter().find(|column| column.name == *name).ok_or_else(|| name.clone())?;
        // As text a FLOAT has six digits, which are not all.
        let more = if found.data_type == "float" { "+0e0" } else { "" };
        Ok(format!("{}{more}", quoted(name)))
    };
    let parts: Vec<String> = columns.iter().map(part).collect::<Result<_, String>>()?;
    Ok(format!("SELECT {} FROM {}", parts.join(", "), quoted(&table.name)))
}

/// Appends the line of a row, with its line feed. A value has no end of line in it: `\n` stands for one.
pub(super) fn put<'v, E>(
    values: impl Iterator<Item = Result<Option<&'v [u8]>, E>>,
    out: &mut Vec<u8>,
) -> Result<(), E> {
    let begin = out.len();
    for value in values {
        match value? {
            None => out.extend_from_slice(b"\\N"),
            Some(value) => escape(value, out),
        }
        out.push(DELIMITER);
    }
    if out.len() > begin {
        out.pop();
    }
    out.push(b'\n');
    Ok(())
}

fn escape(value: &[u8], out: &mut Vec<u8>) {
    let mut rest = value;
    while let Some(at) = rest.iter().position(|byte| matches!(byte, 0 | b'\n' | b'\r' | b'\\' | &DELIMITER)) {
        out.extend_from_slice(&rest[..at]);
        let letter = match rest[at] {
            0 => b'0',
            b'\n' => b'n',
            b'\r' => b'r',
            byte => byte,
        };
        out.extend_from_slice(&[b'\\', letter]);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// How many lines, and the sum of their hashes, which wraps: the same in whatever order, and another one where a line comes twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Checksum {
    pub rows: u64,
    pub sum: u128,
}

impl Checksum {
    pub fn add(&mut self, line: &[u8]) {
        self.rows += 1;
        self.sum = self.sum.wrapping_add(xxh3_128(line));
    }

    pub fn digits(self) -> String {
        format!("{:032x}", self.sum)
    }

    pub fn join(&mut self, other: Self) {
        self.rows += other.rows;
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

const VERSION: u32 = 2;
const NAME: &str = "export.json";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub version: u32,
    /// The server's clock at the snapshot, UTC.
    pub at: String,
    pub tables: Vec<Exported>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exported {
    pub table: String,
    pub engine: String,
    /// Whether the engine takes part in the snapshot; without, rows that changed during the export are as they were found.
    pub snapshot: bool,
    pub create: String,
    /// Fields of a line, in their order.
    pub columns: Vec<String>,
    pub rows: u64,
    /// Sum of the XXH3 (128 bits) of all lines, in hexadecimal digits.
    pub checksum: String,
    pub files: Vec<ExportedFile>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedFile {
    pub name: String,
    pub rows: u64,
    pub bytes: u64,
    pub checksum: String,
}

impl Manifest {
    pub(super) fn new(at: String, tables: Vec<Exported>) -> Self {
        Self { version: VERSION, at, tables }
    }

    pub fn read(folder: &Path) -> Result<Self, HaulError> {
        let path = folder.join(NAME);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let what = format!("{} holds no export (export.json)", folder.display());
                return Err(refused(what, "name the folder that `evenkeel cdr export --into` wrote").into());
            }
            bytes => bytes.map_err(HaulError::io("read", &path))?,
        };
        let wrong =
            |problem: String| refused(format!("{}: {problem}", path.display()), "export the tables again");
        let found: Self = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
        // Names of files are of this folder, whoever wrote the manifest.
        let is_plain = |file: &ExportedFile| Path::new(&file.name).file_name() == Some(file.name.as_ref());
        if found.version != VERSION {
            return Err(wrong(format!("version {} is not {VERSION}", found.version)).into());
        }
        if !found.tables.iter().flat_map(|table| &table.files).all(is_plain) {
            return Err(wrong("it names a file of another folder".to_owned()).into());
        }
        Ok(found)
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), HaulError> {
        let path = folder.join(NAME);
        let written = || -> std::io::Result<()> {
            let mut file = File::create(&path)?;
            file.write_all(&serde_json::to_vec_pretty(self)?)?;
            file.sync_all()
        };
        written().map_err(HaulError::io("write", &path))
    }
}

impl Exported {
    /// Notes the files, with the rows and the checksum of all.
    pub(super) fn set_files(&mut self, files: Vec<(ExportedFile, Checksum)>) {
        let mut all = Checksum::default();
        files.iter().for_each(|(_, sum)| all.join(*sum));
        (self.rows, self.checksum) = (all.rows, all.digits());
        self.files = files.into_iter().map(|(file, _)| file).collect();
    }
}

const BUFFER: usize = 1 << 18;

/// Rows of a file at most: loaded again it is one transaction.
const ROWS: u64 = if cfg!(test) { 2 } else { 1_000_000 };

/// Writes lines, and begins a new file after [`ROWS`].
pub(super) struct Writer<'a> {
    folder: &'a Path,
    table: &'a str,
    open: Option<Open>,
    done: Vec<(ExportedFile, Checksum)>,
}

struct Open {
    out: BufWriter<File>,
    name: String,
    checksum: Checksum,
    bytes: u64,
}

impl<'a> Writer<'a> {
    pub fn new(folder: &'a Path, table: &'a str) -> Self {
        Self { folder, table, open: None, done: Vec::new() }
    }

    pub fn write(&mut self, line: &[u8]) -> Result<(), HaulError> {
        if self.open.as_ref().is_some_and(|open| open.checksum.rows >= ROWS) {
            self.close()?;
        }
        let open = match &mut self.open {
            Some(open) => open,
            none => {
                let name = format!("{}.{:04}.csv", self.table, self.done.len() + 1);
                none.insert(Open::create(self.folder, name)?)
            }
        };
        open.checksum.add(line.strip_suffix(b"\n").unwrap_or(line));
        open.bytes += line.len() as u64;
        open.out.write_all(line).map_err(HaulError::io("write", &self.folder.join(&open.name)))
    }

    /// All of it is on disk; a table without rows has no file.
    pub fn finish(mut self) -> Result<Vec<(ExportedFile, Checksum)>, HaulError> {
        self.close()?;
        Ok(self.done)
    }

    fn close(&mut self) -> Result<(), HaulError> {
        let Some(Open { out, name, checksum, bytes }) = self.open.take() else { return Ok(()) };
        let file = out.into_inner().map_err(std::io::IntoInnerError::into_error);
        let synced = file.and_then(|file| file.sync_all());
        synced.map_err(HaulError::io("write", &self.folder.join(&name)))?;
        let (rows, digits) = (checksum.rows, checksum.digits());
        self.done.push((ExportedFile { name, rows, bytes, checksum: digits }, checksum));
        Ok(())
    }
}

impl Open {
    fn create(folder: &Path, name: String) -> Result<Self, HaulError> {
        let path = folder.join(&name);
        let file = File::create(&path).map_err(HaulError::io("write", &path))?;
        let out = BufWriter::with_capacity(BUFFER, file);
        Ok(Self { out, name, checksum: Checksum::default(), bytes: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_wire::record::Values;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn values_come_back_from_a_line(values in proptest::collection::vec(proptest::option::of(proptest::collection::vec(any::<u8>(), 0..9)), 1..5)) {
            let mut line = Vec::new();
            put(values.iter().map(|value| Ok::<_, ()>(value.as_deref())), &mut line).unwrap();
            prop_assert_eq!(line.pop(), Some(b'\n'));
            prop_assert!(!line.contains(&b'\n'));
            let again: Vec<_> = Values::new(&line, DELIMITER).map(Result::unwrap).collect();
            prop_assert_eq!(again, values);
        }
    }

    #[test]
    fn a_checksum_does_not_look_at_the_order_and_sees_what_comes_twice() {
        let of = |lines: &[&str]| {
            let mut sum = Checksum::default();
            lines.iter().for_each(|line| sum.add(line.as_bytes()));
            sum
        };
        assert_eq!(of(&["a", "b", "c"]), of(&["c", "a", "b"]));
        assert_ne!(of(&["a", "a", "b"]), of(&["b", "b", "b"]));
        assert_ne!(of(&["a", "a", "b"]).sum, of(&["b", "b", "b"]).sum, "an exclusive or would be the same");
    }

    #[test]
    fn a_table_with_more_rows_has_several_files_and_one_without_rows_has_none() {
        let home = tempfile::tempdir().unwrap();
        let mut writer = Writer::new(home.path(), "t");
        for row in ["1\n", "2\n", "3\n"] {
            writer.write(row.as_bytes()).unwrap();
        }
        let files = writer.finish().unwrap();
        let said: Vec<_> =
            files.iter().map(|(file, _)| (file.name.as_str(), file.rows, file.bytes)).collect();
        assert_eq!(said, [("t.0001.csv", 2, 4), ("t.0002.csv", 1, 2)]);
        assert_eq!(std::fs::read(home.path().join("t.0001.csv")).unwrap(), b"1\n2\n");
        assert!(Writer::new(home.path(), "none").finish().unwrap().is_empty());
    }
}
