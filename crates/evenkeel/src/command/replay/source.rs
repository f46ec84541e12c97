//! The recording that a log is, or becomes.

use crate::command::Session;
use crate::failure::{Stopped, WithHint};
use anyhow::{Context, Result, anyhow};
use evenkeel_lab::replay::Recording;
use evenkeel_lab::replay::import::{ImportError, Summary, import};
use evenkeel_wire::capture::MAGIC;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, stdin};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A capture as it is, or a log as the capture that is made of it, with what became of the log.
pub fn opened(session: &Session, log: &Path) -> Result<(Recording, Option<Summary>)> {
    if log.is_dir() {
        return Ok((Recording::open(log)?, None));
    }
    let name = log.display();
    let mut input: Box<dyn BufRead> = if log.as_os_str() == "-" {
        Box::new(stdin().lock())
    } else {
        let file = File::open(log).with_context(|| format!("cannot read log {name}"));
        Box::new(BufReader::with_capacity(
            1 << 20,
            file.hint("name a file that you may read, or - for standard input")?,
        ))
    };
    let head = input.fill_buf().with_context(|| format!("reading log {name}"))?;
    if head.starts_with(MAGIC) {
        return Ok((Recording::open(log)?, None));
    }
    let (path, file) = unnamed(&session.home)?;
    let written = import(&mut input, &mut BufWriter::with_capacity(1 << 20, &file), &session.stop);
    let summary = match written {
        Err(ImportError::Compressed) => {
            return Err(anyhow!("{name} is compressed by gzip"))
                .hint(format!("decompress it first: `zcat {name} | evenkeel replay - ...`"));
        }
        Err(ImportError::NoLog) => {
            return Err(anyhow!("{name} is not a capture, general log, slow log or SQL file"))
                .hint("SQL needs a semicolon at the end of each statement, at the end of a line");
        }
        written => written.with_context(|| format!("reading log {name}"))?,
    };
    if session.stop.is_set() {
        return Err(Stopped("before all was read".to_owned()).into());
    }
    Ok((Recording::of(&path, file)?, Some(summary)))
}

/// A file of the user alone that no folder names, so that nothing of it is left, however this process ends.
fn unnamed(home: &Path) -> Result<(PathBuf, File)> {
    fs::create_dir_all(home).with_context(|| format!("cannot make folder {}", home.display()))?;
    let path = home.join(format!("replay-{}.capture", std::process::id()));
    let made = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path);
    let file = made.with_context(|| format!("cannot make {}", path.display()))?;
    fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    Ok((path, file))
}
