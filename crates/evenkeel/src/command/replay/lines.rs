//! One line of CSV for each command that was sent.

use anyhow::{Context, Result};
use evenkeel_core::Nanos;
use evenkeel_lab::replay::{Answered, Played};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

const HEAD: &str = "due_s,number,session,client,digest,behind_ms";
const OF_SERVER: [&str; 8] =
    ["lag_ms", "response_ms", "rows", "affected", "bytes", "warnings", "error", "hash"];

/// A file that any thread writes to.
pub struct Lines {
    path: PathBuf,
    inner: Mutex<Inner>,
}

struct Inner {
    file: BufWriter<File>,
    line: String,
    /// The first error; nothing is written after it.
    failed: Option<std::io::Error>,
}

impl Lines {
    /// Makes the file, with the columns of so many servers.
    pub fn create(path: &Path, servers: usize) -> Result<Self> {
        let what = || format!("writing {}", path.display());
        let mut file = BufWriter::with_capacity(1 << 20, File::create(path).with_context(what)?);
        let mut head = HEAD.to_owned();
        for server in 1..=servers {
            OF_SERVER.iter().for_each(|name| {
                let _ = write!(head, ",{name}_{server}");
            });
        }
        writeln!(file, "{head}").with_context(what)?;
        let inner = Inner { file, line: String::new(), failed: None };
        Ok(Self { path: path.to_owned(), inner: Mutex::new(inner) })
    }

    /// Writes one line; an error is kept for [`Lines::end`].
    pub fn add(&self, played: &Played) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let Inner { file, line, failed } = &mut *inner;
        if failed.is_some() {
            return;
        }
        line.clear();
        put(line, played);
        *failed = file.write_all(line.as_bytes()).err();
    }

    /// Writes what is left.
    pub fn end(self) -> Result<()> {
        let mut inner = self.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        let done = inner.failed.take().map_or_else(|| inner.file.flush(), Err);
        done.with_context(|| format!("writing {}", self.path.display()))
    }
}

fn put(line: &mut String, played: &Played) {
    let ms = |time: Nanos| time.as_millis_f64();
    let _ = write!(
        line,
        "{:.6},{},{},{},{:016x},{:.3}",
        played.due.as_secs_f64(),
        played.number,
        played.session,
        played.client,
        played.digest,
        ms(played.behind)
    );
    for Answered { lag, response, rows, affected, bytes, warnings, hash, error } in
        played.answers.iter().flatten()
    {
        let error = error.map(|code| code.to_string()).unwrap_or_default();
        let (lag, response) = (ms(*lag), ms(*response));
        let _ =
            write!(line, ",{lag:.3},{response:.3},{rows},{affected},{bytes},{warnings},{error},{hash:016x}");
    }
    line.push('\n');
}
