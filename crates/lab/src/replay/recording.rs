//! Captures as they are sent again: an index of their commands, each of which is read when it is due.

pub use super::places::{Place, SessionIndex};
use super::places::{UNKNOWN, UNRANKED, date, rank, spread};
use super::records::Records;
use evenkeel_wire::capture::{Asked, LeftOut, Opened, Record};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Seek};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Most commands; the index of so many takes 2 GB.
pub const COMMANDS_MAX: usize = 50_000_000;
/// A place has its file in the upper bits of its offset.
const OFFSET_BITS: u32 = 48;
/// Most commands are shorter, so that one read gets them.
const READ_AHEAD: usize = 512;

#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    #[error("cannot read capture {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is not a capture", .0.display())]
    NoCapture(PathBuf),
    #[error("there is no capture in {}", .0.display())]
    Empty(PathBuf),
    #[error("more than {COMMANDS_MAX} commands")]
    TooMany,
}

/// Shared by all who send it: reading changes nothing.
#[derive(Debug, Default)]
pub struct Recording {
    files: Vec<File>,
    /// The first line of each file, as JSON.
    pub headers: Vec<serde_json::Value>,
    sessions: Vec<SessionIndex>,
    /// Its times are to the second.
    is_coarse: bool,
    /// When each of the logs began that are sent at the same time, wherever it was moved to; nanoseconds since 1970.
    began: Vec<u64>,
    /// Its times are those that a client waits, as ours. A slow log has the server's part alone.
    pub has_round_trips: bool,
    pub left_out: Vec<LeftOut>,
    /// Records that could not be read.
    pub damaged: u64,
    /// Files that end inside a record.
    pub cut: u64,
    /// Files of a guard without its last record: it was killed, its disk was full, or it is still writing.
    pub unended: u64,
    /// Commands that guards had not kept.
    pub not_kept: u64,
}

impl Recording {
    /// Reads a capture; of a folder all of them, in the order of their names.
    pub fn open(path: &Path) -> Result<Self, RecordingError> {
        let mut indexing = Indexing::default();
        for path in files(path)? {
            let file =
                File::open(&path).map_err(|source| RecordingError::Read { path: path.clone(), source })?;
            indexing.file(&path, file)?;
        }
        Ok(indexing.finish())
    }

    /// Reads one capture, which has this name in errors.
    pub fn of(path: &Path, file: File) -> Result<Self, RecordingError> {
        let mut indexing = Indexing::default();
        indexing.file(path, file)?;
        Ok(indexing.finish())
    }

    /// Both, to be sent at the same time: the other one begins when this one does.
    pub fn beside(mut self, mut other: Self) -> Self {
        let (later, logs) = (self.began().wrapping_sub(other.began()), self.logs());
        let (files, moved) = (self.files.len() as u64, |at: u64| at.wrapping_add(later));
        self.began.append(&mut other.began);
        self.has_round_trips &= other.has_round_trips;
        for session in &mut other.sessions {
            session.log += logs;
            for place in &mut session.commands {
                (place.start, place.at) = (moved(place.start), place.at + (files << OFFSET_BITS));
                place.end = place.end().map_or(UNKNOWN, moved);
            }
        }
        self.files.append(&mut other.files);
        self.headers.append(&mut other.headers);
        self.sessions.append(&mut other.sessions);
        self.left_out.append(&mut other.left_out);
        (self.damaged, self.cut) = (self.damaged + other.damaged, self.cut + other.cut);
        (self.unended, self.not_kept) = (self.unended + other.unended, self.not_kept + other.not_kept);
        self.is_coarse |= other.is_coarse;
        rank(&mut self.sessions, self.is_coarse);
        self
    }

    /// How many logs are sent at the same time.
    pub fn logs(&self) -> u32 {
        self.began.len().max(1) as u32
    }

    pub fn sessions(&self) -> &[SessionIndex] {
        &self.sessions
    }

    /// When the first command was sent, nanoseconds since 1970; 0 without any.
    pub fn began(&self) -> u64 {
        self.log_began(0)
    }

    /// When this one of the logs began, before it was moved beside the first.
    pub fn log_began(&self, log: u32) -> u64 {
        self.began.get(log as usize).copied().unwrap_or_default()
    }

    /// All commands, of all sessions.
    pub fn commands(&self) -> usize {
        self.sessions.iter().map(|session| session.commands.len()).sum()
    }

    /// Reads one command; `buffer` holds its bytes.
    pub fn read<'a>(&self, place: &Place, buffer: &'a mut Vec<u8>) -> io::Result<Asked<'a>> {
        let damaged = || io::Error::new(ErrorKind::InvalidData, "a command of the capture is damaged");
        let file = self.files.get((place.at >> OFFSET_BITS) as usize).ok_or_else(damaged)?;
        let at = place.at & ((1 << OFFSET_BITS) - 1);
        buffer.resize(READ_AHEAD, 0);
        let got = read_some(file, buffer, at)?;
        let length =
            buffer.first_chunk().map(|bytes| u32::from_le_bytes(*bytes) as usize).unwrap_or_default();
        let length = length.saturating_add(super::records::HEADER_BYTES);
        if length > super::records::RECORD_MAX {
            return Err(damaged());
        }
        if length > got {
            buffer.resize(length, 0);
            file.read_exact_at(&mut buffer[got..], at + got as u64)?;
        }
        match Record::read(buffer) {
            Ok(Some((Record::Asked(asked), _))) => Ok(asked),
            _ => Err(damaged()),
        }
    }

    /// How many commands, in the order of ends, had ended before this one was sent.
    pub fn ended_before(&self, place: &Place) -> u32 {
        place.before
    }
}

fn read_some(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    loop {
        match file.read_at(buffer, at) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            got => return got,
        }
    }
}

fn files(path: &Path) -> Result<Vec<PathBuf>, RecordingError> {
    let failed = |source| RecordingError::Read { path: path.to_owned(), source };
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path).map_err(failed)?;
    let found: Result<Vec<PathBuf>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut found = found.map_err(failed)?;
    found.retain(|path| path.extension().is_some_and(|extension| extension == "capture"));
    if found.is_empty() {
        return Err(RecordingError::Empty(path.to_owned()));
    }
    found.sort();
    Ok(found)
}

#[derive(Default)]
struct Indexing {
    recording: Recording,
    /// Places of open sessions, by their number.
    open: HashMap<u64, usize>,
    commands: usize,
    is_ended: bool,
}

impl Indexing {
    fn finish(self) -> Recording {
        let mut recording = self.recording;
        let times = |known: &str| recording.headers.iter().any(|header| header["times"] == known);
        recording.is_coarse = times("seconds");
        if recording.is_coarse || times("microseconds") {
            date(&mut recording.sessions);
        }
        if recording.is_coarse {
            spread(&mut recording.sessions);
        }
        let first = recording.sessions.iter().filter_map(|session| session.commands.first());
        recording.began = vec![first.map(|place| place.start).min().unwrap_or_default()];
        recording.has_round_trips = recording.headers.iter().all(|header| header["source"] != "slow-log");
        rank(&mut recording.sessions, recording.is_coarse);
        recording
    }

    fn file(&mut self, path: &Path, mut file: File) -> Result<(), RecordingError> {
        let failed = |source| RecordingError::Read { path: path.to_owned(), source };
        file.rewind().map_err(failed)?;
        let number = self.recording.files.len() as u64;
        let input = file.try_clone().map_err(failed)?;
        let no_capture = || RecordingError::NoCapture(path.to_owned());
        let mut records = Records::open(input).map_err(failed)?.ok_or_else(no_capture)?;
        self.recording.headers.push(records.header.clone());
        while let Some((at, record)) = records.next().map_err(failed)? {
            self.take(&record, number << OFFSET_BITS | at)?;
        }
        self.recording.damaged += records.damaged;
        self.recording.cut += u64::from(records.is_cut);
        self.recording.unended += u64::from(!self.is_ended && records.header["source"] == "guard");
        self.is_ended = false;
        self.recording.files.push(file);
        Ok(())
    }

    fn take(&mut self, record: &Record<'_>, at: u64) -> Result<(), RecordingError> {
        match record {
            Record::Opened(opened) => self.opened(opened),
            Record::Asked(asked) => self.asked(asked, at)?,
            Record::Closed { session, .. } => drop(self.open.remove(session)),
            Record::LeftOut(left) => self.recording.left_out.push(*left),
            Record::Ended { left_out, .. } => {
                self.is_ended = true;
                self.recording.not_kept += left_out;
            }
        }
        Ok(())
    }

    fn opened(&mut self, opened: &Opened<'_>) {
        // The next file of a recorder may name again the sessions that go on.
        if opened.is_late && self.open.contains_key(&opened.session) {
            return;
        }
        self.open.insert(opened.session, self.recording.sessions.len());
        self.recording.sessions.push(SessionIndex {
            session: opened.session,
            user: opened.user.to_vec(),
            database: opened.database.to_vec(),
            is_late: opened.is_late,
            ..SessionIndex::default()
        });
    }

    fn asked(&mut self, asked: &Asked<'_>, at: u64) -> Result<(), RecordingError> {
        let Asked { session, start, .. } = *asked;
        if !self.open.contains_key(&session) {
            self.opened(&Opened { session, at: start, user: b"", database: b"", is_late: true });
        }
        self.commands += 1;
        if self.commands > COMMANDS_MAX {
            return Err(RecordingError::TooMany);
        }
        let end = asked.end.map_or(UNKNOWN, |end| end.max(start).min(UNKNOWN - 1));
        let place = Place { start, end, at, number: 0, rank: UNRANKED, before: 0 };
        let index = self.open.get(&session).copied().unwrap_or_default();
        if let Some(session) = self.recording.sessions.get_mut(index) {
            session.commands.push(place);
        }
        Ok(())
    }
}
