//! A table as a file in LOAD DATA format, in primary key order.

use super::content::Content;
use super::error::DataError;
use super::parallel::Tally;
use super::schema::Definition;
use evenkeel_site::server::{Control, TargetError};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;

/// Rows between two looks at the stop switch.
const ROWS_BETWEEN_LOOKS: u64 = 1_000;

/// Writes a table to a new file, row by row, and makes it durable. Returns what was written.
pub(super) fn write(
    control: &mut Control,
    definition: &Definition,
    path: &Path,
    tally: &Tally,
) -> Result<Content, DataError> {
    let failed = |source| DataError::File { doing: "write the dump", path: path.to_owned(), source };
    let mut file = BufWriter::with_capacity(1 << 18, File::create_new(path).map_err(failed)?);
    let mut content = Content::default();
    let mut line = Vec::new();
    let sql = format!(
        "SELECT {} FROM `{}` ORDER BY `{}`",
        definition.column_list(),
        definition.name,
        definition.order.join("`,`")
    );
    let written = control.for_each_row(&sql, &mut |values| {
        if content.rows % ROWS_BETWEEN_LOOKS == 0 {
            tally.proceed().map_err(io::Error::other)?;
        }
        content.add_row(&joined(values));
        line.clear();
        encode(values, &mut line);
        tally.add(1, line.len() as u64);
        file.write_all(&line)
    });
    match written {
        Ok(_) => {}
        Err(TargetError::Reader(source)) => return Err(failed(source)),
        Err(error) => return Err(error.into()),
    }
    let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
    file.sync_all().map_err(failed)?;
    Ok(content)
}

/// The values as `CONCAT_WS('\t', ...)` gives them: NULL is left out together with its tab.
fn joined(values: &[Option<Vec<u8>>]) -> Vec<u8> {
    let present: Vec<&[u8]> = values.iter().flatten().map(Vec::as_slice).collect();
    present.join(&b'\t')
}

/// A line of a LOAD DATA file with tabs between, a line feed after and backslashes before what would be
/// taken for either; NULL is `\N`.
fn encode(values: &[Option<Vec<u8>>], line: &mut Vec<u8>) {
    for value in values {
        match value {
            None => line.extend_from_slice(b"\\N"),
            Some(bytes) => bytes.iter().for_each(|&byte| match byte {
                b'\t' => line.extend_from_slice(b"\\t"),
                b'\n' => line.extend_from_slice(b"\\n"),
                b'\\' => line.extend_from_slice(b"\\\\"),
                0 => line.extend_from_slice(b"\\0"),
                other => line.push(other),
            }),
        }
        line.push(b'\t');
    }
    if let Some(last) = line.last_mut() {
        *last = b'\n';
    }
}

/// A dump on its way into the server; counts rows and bytes, and fails when somebody asks to stop.
pub(super) struct Dump {
    file: File,
    tally: Arc<Tally>,
}

impl Dump {
    pub(super) fn open(path: &Path, tally: &Arc<Tally>) -> Result<Self, DataError> {
        let file = File::open(path).map_err(|source| DataError::File {
            doing: "read the dump",
            path: path.to_owned(),
            source,
        })?;
        Ok(Self { file, tally: Arc::clone(tally) })
    }
}

impl Read for Dump {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.tally.proceed().map_err(io::Error::other)?;
        let length = self.file.read(out)?;
        // A line feed inside a value is escaped, so each one ends a row.
        let rows = out[..length].iter().filter(|&&byte| byte == b'\n').count();
        self.tally.add(rows as u64, length as u64);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_look_like_separators_are_escaped() {
        let values = [Some(b"a\tb\nc\\d\0e'".to_vec()), None, Some(Vec::new())];
        let mut line = Vec::new();
        encode(&values, &mut line);
        assert_eq!(line, b"a\\tb\\nc\\\\d\\0e'\t\\N\t\n");
    }

    #[test]
    fn null_leaves_no_trace_in_the_joined_row() {
        assert_eq!(joined(&[Some(b"1".to_vec()), None, Some(b"2".to_vec())]), b"1\t2");
    }
}
