//! One line of CSV for each command that was sent.

use crate::failure::WithHint;
use anyhow::{Context, Result};
use evenkeel_core::Nanos;
use evenkeel_lab::replay::{Answered, Played, SIDES};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

const HEAD: &str = "due_s,number,session,client,digest,behind_ms";
/// The last column: which log was sent to which servers, and how.
const REPLAY: &str = "replay";
const OF_SERVER: [&str; 8] =
    ["lag_ms", "response_ms", "rows", "affected", "bytes", "warnings", "error", "hash"];

pub struct Lines {
    path: PathBuf,
    replay: u64,
    file: BufWriter<File>,
    line: String,
    /// The first error; nothing is written after it.
    failed: Option<std::io::Error>,
}

impl Lines {
    /// Makes the file, with the columns of so many servers.
    pub fn create(path: &Path, (servers, replay): (usize, u64)) -> Result<Self> {
        let what = || format!("writing {}", path.display());
        let file = File::options().write(true).create_new(true).open(path).with_context(what);
        let mut file =
            file.hint("give another name, or --resume where that file is of this replay and it was stopped")?;
        writeln!(file, "{}", head(servers)).with_context(what)?;
        Ok(Self::after(path, file, replay))
    }

    /// Writes to the end of a file that has lines.
    pub fn after(path: &Path, file: File, replay: u64) -> Self {
        let file = BufWriter::with_capacity(1 << 20, file);
        Self { path: path.to_owned(), replay, file, line: String::new(), failed: None }
    }

    /// Writes one line; an error is kept for [`Lines::end`].
    pub fn add(&mut self, played: &Played) {
        if self.failed.is_some() || played.is_past {
            return;
        }
        self.line.clear();
        put(&mut self.line, played, self.replay);
        self.failed = self.file.write_all(self.line.as_bytes()).err();
    }

    /// Writes what is left.
    pub fn end(mut self) -> Result<()> {
        let done = self.failed.take().map_or_else(|| self.file.flush(), Err);
        done.with_context(|| format!("writing {}", self.path.display()))
    }
}

/// The first line: columns of each server, and of the first one asked again.
pub fn head(servers: usize) -> String {
    let again = (servers == SIDES).then_some("again");
    let of = (1..=servers).map(|server| server.to_string()).chain(again.map(str::to_owned));
    let columns = of.flat_map(|of| OF_SERVER.map(|name| format!(",{name}_{of}")));
    format!("{HEAD}{},{REPLAY}", columns.collect::<String>())
}

fn put(line: &mut String, played: &Played, replay: u64) {
    let ms = |time: Nanos| time.as_millis_f64();
    let _ = write!(
        line,
        "{:.6},{},{},{},{:016x},{:.6}",
        played.due.as_secs_f64(),
        played.number,
        played.session,
        played.client,
        played.digest,
        ms(played.behind)
    );
    let again = played.again.as_ref();
    for answered in played.answers.iter().flatten().chain(again) {
        let Answered { lag, response, rows, affected, bytes, warnings, hash, error } = answered;
        let error = error.map(|code| code.to_string()).unwrap_or_default();
        let (lag, response) = (ms(*lag), ms(*response));
        let _ =
            write!(line, ",{lag:.6},{response:.6},{rows},{affected},{bytes},{warnings},{error},{hash:016x}");
    }
    if played.answers.iter().all(Option::is_some) && again.is_none() {
        line.push_str(&",".repeat(OF_SERVER.len()));
    }
    let _ = writeln!(line, ",{replay:016x}");
}
