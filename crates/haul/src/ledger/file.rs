//! The ledger file: a line before each write is sent, and one when its fate is known.
//!
//! ```text
//! ledger 5f0c88d1
//! sent 3 17 12.345678 12.345702
//! acknowledged 3 17 12.346120
//! refused 3 18 12.401000 1290
//! unknown 3 19 14.401000
//! down 3 14.500000 db2:3306 cannot connect
//! ```
//!
//! After `sent` stand writer, number, the arrival and the instant of sending, in seconds since the start. A line goes to the system at
//! once, so that it survives kill -9; it is on the disk a tenth of a second later.

use super::Write;
use crate::{HaulError, refused};
use evenkeel_core::Nanos;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Acknowledged,
    /// The server's error code; nothing was stored.
    Refused(u16),
    /// The connection was lost before the answer: it may be stored or not.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    Sent {
        write: Write,
        arrival: Nanos,
        at: Nanos,
    },
    Ended {
        write: Write,
        at: Nanos,
        fate: Fate,
    },
    /// No server let a writer in.
    Down {
        writer: u32,
        at: Nanos,
        reason: String,
    },
}

impl fmt::Display for Line {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |write: &Write| format!("{} {}", write.writer, write.number);
        match self {
            Self::Sent { write, arrival, at } => {
                write!(out, "sent {} {} {}", of(write), seconds(*arrival), seconds(*at))
            }
            Self::Ended { write, at, fate: Fate::Acknowledged } => {
                write!(out, "acknowledged {} {}", of(write), seconds(*at))
            }
            Self::Ended { write, at, fate: Fate::Refused(code) } => {
                write!(out, "refused {} {} {code}", of(write), seconds(*at))
            }
            Self::Ended { write, at, fate: Fate::Unknown } => {
                write!(out, "unknown {} {}", of(write), seconds(*at))
            }
            Self::Down { writer, at, reason } => {
                write!(out, "down {writer} {} {}", seconds(*at), reason.replace(['\n', '\r'], " "))
            }
        }
    }
}

fn seconds(at: Nanos) -> String {
    format!("{:.6}", at.as_secs_f64())
}

impl Line {
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.splitn(5, ' ');
        let kind = words.next()?;
        let writer: u32 = words.next()?.parse().ok()?;
        let instant =
            |word: &str| word.parse().ok().filter(|at: &f64| at.is_finite()).map(Nanos::from_secs_f64);
        if kind == "down" {
            let at = instant(words.next()?)?;
            return Some(Self::Down { writer, at, reason: words.collect::<Vec<_>>().join(" ") });
        }
        let write = Write { writer, number: words.next()?.parse().ok().filter(|number| *number > 0)? };
        let (at, last) = (instant(words.next()?)?, words.next());
        let fate = match (kind, last) {
            ("sent", Some(sent)) => return Some(Self::Sent { write, arrival: at, at: instant(sent)? }),
            ("acknowledged", None) => Fate::Acknowledged,
            ("unknown", None) => Fate::Unknown,
            ("refused", Some(code)) => Fate::Refused(code.parse().ok()?),
            _ => return None,
        };
        Some(Self::Ended { write, at, fate })
    }
}

/// What a ledger says of one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub arrival: Nanos,
    pub sent: Nanos,
    /// When the fate was known.
    pub ended: Option<Nanos>,
    pub fate: Fate,
}

/// All writes of a ledger file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// The same as in the comment of the table.
    pub id: String,
    pub entries: BTreeMap<Write, Entry>,
    /// When no server let a writer in, and why.
    pub down: Vec<(Nanos, String)>,
}

impl Ledger {
    /// Reads a file. A last line that was cut, as by a kill, is left out.
    /// Errors: it cannot be read, or a line is not of a ledger.
    pub fn read(path: &Path) -> Result<Self, HaulError> {
        let file = File::open(path).map_err(HaulError::io("read", path))?;
        let (mut reader, mut text, mut ledger, mut number) =
            (BufReader::new(file), String::new(), Self::default(), 0_u64);
        loop {
            text.clear();
            reader.read_line(&mut text).map_err(HaulError::io("read", path))?;
            let Some(line) = text.strip_suffix('\n') else { break };
            number += 1;
            if !ledger.take(line, number) {
                let what = format!("{}: line {number} is not a line of a ledger", path.display());
                return Err(refused(what, "give the file that `evenkeel drill write --ledger` wrote").into());
            }
        }
        match ledger.id.is_empty() {
            false => Ok(ledger),
            true => Err(refused(
                format!("{} is empty", path.display()),
                "the writers stopped before their first write",
            )
            .into()),
        }
    }

    /// Arrival and acknowledgement of each write that has one.
    pub fn acknowledged(&self) -> impl Iterator<Item = (Nanos, Nanos)> {
        let of = |entry: &Entry| Some((entry.arrival, entry.ended?));
        self.entries.values().filter(|entry| entry.fate == Fate::Acknowledged).filter_map(of)
    }

    /// The longest time without an acknowledgement that has a part in a range: its begin and its end.
    pub fn longest_gap(&self, within: Range<Nanos>) -> Option<(Nanos, Nanos)> {
        let mut instants: Vec<Nanos> = self.acknowledged().map(|(_, at)| at).collect();
        instants.sort_unstable();
        let pairs = instants.windows(2).filter(|pair| pair[1] >= within.start && pair[0] < within.end);
        pairs.max_by_key(|pair| pair[1] - pair[0]).map(|pair| (pair[0], pair[1]))
    }

    /// Writes that failed, by the server's code; those without an answer are code 0.
    pub fn errors(&self) -> BTreeMap<u16, u64> {
        let mut errors = BTreeMap::new();
        for entry in self.entries.values() {
            match entry.fate {
                Fate::Acknowledged => {}
                Fate::Refused(code) => *errors.entry(code).or_default() += 1,
                Fate::Unknown => *errors.entry(0).or_default() += 1,
            }
        }
        errors
    }

    /// Whether the line belongs there.
    fn take(&mut self, text: &str, number: u64) -> bool {
        if number == 1 {
            self.id = text.strip_prefix("ledger ").unwrap_or_default().to_owned();
            return !self.id.is_empty();
        }
        match Line::parse(text) {
            None => false,
            Some(Line::Down { at, reason, .. }) => {
                self.down.push((at, reason));
                true
            }
            Some(Line::Sent { write, arrival, at }) => {
                let entry = Entry { arrival, sent: at, ended: None, fate: Fate::Unknown };
                self.entries.insert(write, entry).is_none()
            }
            Some(Line::Ended { write, at, fate }) => match self.entries.get_mut(&write) {
                Some(entry) if entry.ended.is_none() => {
                    (entry.ended, entry.fate) = (Some(at), fate);
                    true
                }
                _ => false,
            },
        }
    }
}

/// A ledger file that is being written, by several writers.
pub(super) struct LedgerWriter {
    file: File,
    path: PathBuf,
}

impl LedgerWriter {
    /// Errors: there is a file already, or it cannot be written.
    pub fn create(path: &Path, id: &str) -> Result<Self, HaulError> {
        let file = File::create_new(path).map_err(HaulError::io("create", path))?;
        let book = Self { file, path: path.to_owned() };
        book.append(&format!("ledger {id}"))?;
        Ok(book)
    }

    pub fn line(&self, line: &Line) -> Result<(), HaulError> {
        self.append(&line.to_string())
    }

    /// One call of the system for each line: lines of several writers do not mix.
    fn append(&self, text: &str) -> Result<(), HaulError> {
        (&self.file).write_all(format!("{text}\n").as_bytes()).map_err(HaulError::io("write", &self.path))
    }

    pub fn sync(&self) -> Result<(), HaulError> {
        self.file.sync_data().map_err(HaulError::io("write", &self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Ledger, HaulError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger");
        std::fs::write(&path, text).unwrap();
        Ledger::read(&path)
    }

    #[test]
    fn each_line_reads_as_it_was_written() {
        let write = Write { writer: 3, number: 17 };
        let at = Nanos::from_micros(12_345_678);
        for line in [
            Line::Sent { write, arrival: at, at: Nanos::from_millis(13_000) },
            Line::Ended { write, at, fate: Fate::Acknowledged },
            Line::Ended { write, at, fate: Fate::Refused(1290) },
            Line::Ended { write, at, fate: Fate::Unknown },
            Line::Down { writer: 3, at, reason: "db2:3306: connection refused".into() },
        ] {
            assert_eq!(Line::parse(&line.to_string()), Some(line));
        }
    }

    #[test]
    fn what_was_sent_and_has_no_end_is_unknown_and_a_cut_line_is_left_out() {
        let ledger =
            of("ledger a\nsent 0 1 1.0 1.1\nacknowledged 0 1 1.2\nsent 0 2 1.3 1.3\nacknowledged 0 2 1.")
                .unwrap();
        let fates: Vec<_> = ledger.entries.values().map(|entry| entry.fate).collect();
        assert_eq!(fates, [Fate::Acknowledged, Fate::Unknown]);
    }

    #[test]
    fn what_no_writer_wrote_is_refused_with_its_line() {
        for text in [
            "",
            "something else\n",
            "ledger a\nsent 0 1 1.0\n",
            "ledger a\nacknowledged 0 1 1.0\n",
            "ledger a\nsent 0 1 1 1\nacknowledged 0 1 1\nunknown 0 1 1\n",
            "ledger a\nsent 0 0 1 1\n",
            "ledger a\nsent 0 1 inf 1\n",
            "ledger a\nsent 0 1 1 1\nsent 0 1 1 1\n",
        ] {
            assert!(of(text).is_err(), "{text:?}");
        }
    }
}
