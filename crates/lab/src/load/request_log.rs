//! One line per request: CSV, compressed with zstd by a thread of its own.
//!
//! Columns: arrival_ns, send_ns, first_byte_ns, done_ns (all from the start of the measured phase; empty for
//! what never happened), kind (as a text, see [`csv::field`]), outcome, error, session. Load threads hand over whole blocks of lines. The
//! queue of blocks is bounded: where the disk does not keep up the load threads wait, which their dispatch
//! lag shows; no line is lost.

use super::schedule::{LoadError, Result};
use crate::csv;
use evenkeel_core::Nanos;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::{io, thread};

/// Lines of a block: 112 KiB.
const BLOCK_LINES: usize = 2_048;
/// Blocks under way: 7 MiB, more than a second at 50,000 requests per second.
const BLOCKS_MAX: usize = 64;
/// Fast and already seven times smaller.
const ZSTD_LEVEL: i32 = 1;

/// Ends of requests, and the start of the measured phase, from which their instants are counted.
type Block = (Nanos, Vec<End>);

pub(super) struct LogSender {
    blocks: SyncSender<Block>,
    block: Vec<End>,
    pub start: Nanos,
}

impl LogSender {
    pub fn push(&mut self, end: End) {
        self.block.push(end);
        if self.block.len() == BLOCK_LINES {
            let full = std::mem::replace(&mut self.block, Vec::with_capacity(BLOCK_LINES));
            // The writer is gone only after an error, which it reports itself.
            let _ = self.blocks.send((self.start, full));
        }
    }

    pub fn finish(self) {
        let _ = self.blocks.send((self.start, self.block));
    }
}

pub(super) struct RequestLog {
    path: PathBuf,
    blocks: SyncSender<Block>,
    writer: JoinHandle<io::Result<()>>,
}

impl RequestLog {
    pub fn start(path: &Path, kinds: &[String]) -> Result<Self> {
        let file = File::create(path).map_err(failed(path))?;
        let (sender, receiver) = sync_channel(BLOCKS_MAX);
        // A kind is named by whoever wrote the workload.
        let kinds: Vec<String> = kinds.iter().map(|kind| csv::field(kind)).collect();
        let writer = thread::Builder::new()
            .name("request log".to_owned())
            .spawn(move || write(file, &kinds, &receiver))
            .map_err(failed(path))?;
        Ok(Self { path: path.to_owned(), blocks: sender, writer })
    }

    pub fn sender(&self) -> LogSender {
        let block = Vec::with_capacity(BLOCK_LINES);
        LogSender { blocks: self.blocks.clone(), block, start: Nanos::ZERO }
    }

    /// Waits until everything is written; all senders must be gone.
    pub fn finish(self) -> Result<()> {
        drop(self.blocks);
        let written = self.writer.join().unwrap_or_else(|_| Err(io::Error::other("the writer broke off")));
        written.map_err(failed(&self.path))
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> LoadError {
    let hint = "name a file by --request-log whose folder exists and in which you may write, or leave it out";
    LoadError::cannot_but(format!("write {}", path.display()), Some(hint))
}

fn write(file: File, kinds: &[String], blocks: &Receiver<Block>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, zstd::Encoder::new(file, ZSTD_LEVEL)?);
    writeln!(out, "arrival_ns,send_ns,first_byte_ns,done_ns,kind,outcome,error,session")?;
    for (start, block) in blocks {
        for end in block {
            write_line(&mut out, &end, start, kinds)?;
        }
    }
    let encoder = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    encoder.finish()?.sync_all()
}

fn write_line(out: &mut impl Write, end: &End, start: Nanos, kinds: &[String]) -> io::Result<()> {
    write!(out, "{},", (end.arrival - start).0)?;
    for instant in [end.send, end.first_byte] {
        if instant != Nanos::ZERO {
            write!(out, "{}", (instant - start).0)?;
        }
        write!(out, ",")?;
    }
    let kind = kinds.get(end.kind as usize).map_or("", String::as_str);
    write!(out, "{},{kind},", (end.done - start).0)?;
    match end.outcome {
        Outcome::Completed => write!(out, "completed,")?,
        Outcome::Failed(code) => write!(out, "failed,{code}")?,
        Outcome::TimedOut => write!(out, "timed_out,")?,
        Outcome::Unsent => write!(out, "unsent,")?,
    }
    match end.session {
        NO_SESSION => writeln!(out, ","),
        session => writeln!(out, ",{session}"),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Completed,
    Failed(u16),
    TimedOut,
    Unsent,
}

/// The end of a request; instants are on the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub arrival: Nanos,
    pub send: Nanos,
    pub first_byte: Nanos,
    pub done: Nanos,
    pub kind: u32,
    /// Slot of its session, [`NO_SESSION`] where it never had one.
    pub session: u32,
    /// How long it had to wait for a session; what is sent later than that is sent late.
    pub waited: Nanos,
    pub outcome: Outcome,
}

pub(super) const NO_SESSION: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_that_was_pushed_can_be_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("requests.csv.zst");
        let kinds = ["read", "=cmd|' /C calc'!A0", "a,\"b\""].map(str::to_owned);
        let log = RequestLog::start(&path, &kinds).unwrap();
        let mut sender = log.sender();
        sender.start = Nanos(10);
        let end = End {
            arrival: Nanos(11),
            send: Nanos(12),
            first_byte: Nanos::ZERO,
            done: Nanos(14),
            kind: 0,
            session: 9,
            waited: Nanos::ZERO,
            outcome: Outcome::Failed(1213),
        };
        (0..5_000).for_each(|_| sender.push(end));
        sender.push(End { send: Nanos::ZERO, outcome: Outcome::Unsent, session: NO_SESSION, ..end });
        (1..3).for_each(|kind| sender.push(End { kind, ..end }));
        sender.finish();
        log.finish().unwrap();
        let text = String::from_utf8(zstd::decode_all(File::open(&path).unwrap()).unwrap()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5_004);
        assert_eq!(lines[1], "1,2,,4,read,failed,1213,9");
        assert_eq!(lines[5_001], "1,,,4,read,unsent,,");
        assert_eq!(lines[5_002], "1,2,,4,'=cmd|' /C calc'!A0,failed,1213,9", "no formula");
        assert_eq!(lines[5_003], "1,2,,4,\"a,\"\"b\"\"\",failed,1213,9", "one field");
    }

    #[test]
    fn a_full_disk_is_an_error_with_a_way_out() {
        let log = RequestLog::start(Path::new("/dev/full"), &[]).unwrap();
        log.sender().finish();
        let error = log.finish().unwrap_err();
        assert!(error.is_disk_full() && error.hint().is_some(), "{error}");
    }
}
