//! Binary logs, as far as a recovery has to read them: where each transaction begins and ends, its GTID and its time.
//!
//! Source: "Binary log event structure" of the MySQL source documentation, and MariaDB's log_event.h for its own events.

use crate::{HaulError, refused};
use std::fmt;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

const MAGIC: [u8; 4] = [0xfe, b'b', b'i', b'n'];
const HEADER: usize = 19;
/// What is read of an event: enough of a GTID, and of a statement to know how it begins. Status variables of a statement take less.
const START: usize = 1024;

/// Numbers of events.
mod kind {
    pub const QUERY: u8 = 2;
    pub const XID: u8 = 16;
    pub const MYSQL_GTID: u8 = 33;
    pub const MYSQL_ANONYMOUS: u8 = 34;
    pub const XA_PREPARE: u8 = 38;
    pub const ENCRYPTION: u8 = 164;
    pub const GTID: u8 = 162;
    pub const QUERY_COMPRESSED: u8 = 165;
}

/// Names a transaction, as the server writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gtid {
    MariaDb {
        domain: u32,
        server: u32,
        sequence: u64,
    },
    MySql {
        source: [u8; 16],
        number: u64,
    },
    /// MySQL with gtid_mode off.
    None,
}

impl fmt::Display for Gtid {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MariaDb { domain, server, sequence } => write!(out, "{domain}-{server}-{sequence}"),
            Self::MySql { source, number } => {
                for (index, byte) in source.iter().enumerate() {
                    let dash = if matches!(index, 4 | 6 | 8 | 10) { "-" } else { "" };
                    write!(out, "{dash}{byte:02x}")?;
                }
                write!(out, ":{number}")
            }
            Self::None => write!(out, "no GTID"),
        }
    }
}

/// A transaction in a log, whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    pub gtid: Gtid,
    /// When the server began it, in seconds since 1970.
    pub at: u32,
    /// Its first byte, and the one behind its last.
    pub start: u64,
    pub end: u64,
}

/// A place in the logs, between two transactions.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Position {
    /// Name of the log, as `bin.000007`.
    pub log: String,
    pub offset: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.log, self.offset)
    }
}

/// Hands out the whole transactions of a log; where the last of them ends. What a kill left behind it is no transaction.
/// Errors: it cannot be read, is no binary log, or is encrypted.
pub fn walk(path: &Path, each: &mut dyn FnMut(&Group)) -> Result<u64, HaulError> {
    let mut log = Log::open(path)?;
    let mut whole = log.offset;
    let mut open: Option<Open> = None;
    while let Some(event) = log.next()? {
        if event.kind == kind::ENCRYPTION {
            let what = format!("{} is encrypted, and is not read", path.display());
            return Err(refused(what, "recover with the server's own programs, which have its key").into());
        }
        if let Some(gtid) = event.gtid() {
            open = Some(Open { gtid, at: event.at, start: event.offset, is_several: event.begins_several() });
            continue;
        }
        let Some(group) = &mut open else {
            whole = event.end();
            continue;
        };
        if group.ends(&event) {
            let Open { gtid, at, start, .. } = *group;
            whole = event.end();
            each(&Group { gtid, at, start, end: whole });
            open = None;
        }
    }
    Ok(whole)
}

/// A transaction that has begun.
struct Open {
    gtid: Gtid,
    at: u32,
    start: u64,
    /// Whether it goes on until a COMMIT.
    is_several: bool,
}

impl Open {
    fn ends(&mut self, event: &Event) -> bool {
        match event.kind {
            kind::XID | kind::XA_PREPARE => true,
            kind::QUERY_COMPRESSED => !self.is_several,
            kind::QUERY if event.says(b"BEGIN") || event.says(b"XA START") => {
                self.is_several = true;
                false
            }
            kind::QUERY => {
                !self.is_several || [&b"COMMIT"[..], b"ROLLBACK", b"XA "].iter().any(|word| event.says(word))
            }
            _ => false,
        }
    }
}

struct Event {
    at: u32,
    kind: u8,
    server: u32,
    offset: u64,
    size: u64,
    /// The first bytes behind the header.
    body: Vec<u8>,
}

impl Event {
    fn end(&self) -> u64 {
        self.offset + self.size
    }

    fn gtid(&self) -> Option<Gtid> {
        Some(match self.kind {
            kind::GTID => Gtid::MariaDb {
                sequence: u64::from_le_bytes(self.body.get(..8)?.try_into().ok()?),
                domain: u32::from_le_bytes(self.body.get(8..12)?.try_into().ok()?),
                server: self.server,
            },
            kind::MYSQL_GTID => Gtid::MySql {
                source: self.body.get(1..17)?.try_into().ok()?,
                number: u64::from_le_bytes(self.body.get(17..25)?.try_into().ok()?),
            },
            kind::MYSQL_ANONYMOUS => Gtid::None,
            _ => return None,
        })
    }

    /// Whether MariaDB says of this GTID that a COMMIT ends it: its flag "standalone" is not set.
    fn begins_several(&self) -> bool {
        self.kind == kind::GTID && self.body.get(12).is_some_and(|flags| flags & 1 == 0)
    }

    /// Whether the statement begins so. Before it stand 13 bytes, the status variables, and the database with a zero byte.
    fn says(&self, words: &[u8]) -> bool {
        let text = || {
            let variables = u16::from_le_bytes(self.body.get(11..13)?.try_into().ok()?);
            let database = usize::from(*self.body.get(8)?);
            self.body.get(13 + usize::from(variables) + database + 1..)
        };
        text().is_some_and(|text| text.starts_with(words))
    }
}

struct Log {
    file: BufReader<File>,
    path: PathBuf,
    offset: u64,
    length: u64,
}

impl Log {
    fn open(path: &Path) -> Result<Self, HaulError> {
        let file = File::open(path).map_err(HaulError::io("read", path))?;
        let length = file.metadata().map_err(HaulError::io("read", path))?.len();
        let mut log = Self { file: BufReader::new(file), path: path.to_owned(), offset: 4, length };
        let mut magic = [0; 4];
        match log.file.read_exact(&mut magic) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(log.is_none()),
            Err(error) => Err(HaulError::io("read", path)(error)),
            Ok(()) if magic != MAGIC => Err(log.is_none()),
            Ok(()) => Ok(log),
        }
    }

    fn is_none(&self) -> HaulError {
        let what = format!("{} is not a binary log", self.path.display());
        refused(what, "name the folder of the server's log_bin").into()
    }

    /// The next event that is there as a whole.
    fn next(&mut self) -> Result<Option<Event>, HaulError> {
        if self.offset + HEADER as u64 > self.length {
            return Ok(None);
        }
        let mut header = [0; HEADER];
        self.read(&mut header)?;
        let number =
            |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (at, kind, server, size) = (number(0), header[4], number(5), u64::from(number(9)));
        if size < HEADER as u64 || self.offset + size > self.length {
            return Ok(None);
        }
        let rest = size - HEADER as u64;
        let mut body = vec![0; rest.min(START as u64) as usize];
        self.read(&mut body)?;
        let skipped = rest - body.len() as u64;
        self.file.seek_relative(skipped as i64).map_err(HaulError::io("read", &self.path))?;
        let event = Event { at, kind, server, offset: self.offset, size, body };
        self.offset += size;
        Ok(Some(event))
    }

    fn read(&mut self, into: &mut [u8]) -> Result<(), HaulError> {
        self.file.read_exact(into).map_err(HaulError::io("read", &self.path))
    }
}

/// Logs of a folder, from one on, in their order.
/// Errors: none of this name is there, or one behind it is missing.
pub fn chain(folder: &Path, first: &str) -> Result<Vec<PathBuf>, HaulError> {
    let (base, number) = split(first).ok_or_else(|| missing(folder, first))?;
    let entries = folder.read_dir().map_err(HaulError::io("read", folder))?;
    let mut numbers: Vec<u64> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter_map(|name| split(&name).filter(|(of, _)| *of == base).map(|(_, number)| number))
        .filter(|found| *found >= number)
        .collect();
    numbers.sort_unstable();
    let digits = first.len() - base.len() - 1;
    let name = |number: u64| format!("{base}.{number:0digits$}");
    for (expected, found) in (number..).zip(&numbers) {
        if expected != *found {
            return Err(missing(folder, &name(expected)));
        }
    }
    match numbers.is_empty() {
        true => Err(missing(folder, first)),
        false => Ok(numbers.into_iter().map(|number| folder.join(name(number))).collect()),
    }
}

fn split(name: &str) -> Option<(&str, u64)> {
    let (base, digits) = name.rsplit_once('.')?;
    let is_number = digits.len() >= 6 && digits.bytes().all(|byte| byte.is_ascii_digit());
    Some((base, digits.parse().ok().filter(|_| is_number)?))
}

fn missing(folder: &Path, name: &str) -> HaulError {
    let what = format!("the binary log {name} is not in {}", folder.display());
    refused(what, "recovery needs every log since the backup: bring it back, or take a later backup").into()
}

/// Where a recovery stops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Until {
    /// With the last transaction that is whole.
    #[default]
    End,
    /// With this transaction.
    Gtid(String),
    /// There, between two transactions.
    Position(Position),
    /// Before the first transaction that began at this second since 1970, or later.
    Time(u32),
}

/// The transactions that are to be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub logs: Vec<PathBuf>,
    /// In the first log.
    pub from: u64,
    /// In the last log.
    pub to: u64,
    pub transactions: u64,
    pub last: Option<Group>,
}

/// Finds the stretch of the logs from a position on.
/// Errors: a log is missing or cannot be read, or the logs do not get there.
pub fn stretch(folder: &Path, from: &Position, until: &Until) -> Result<Stretch, HaulError> {
    if let Until::Position(to) = until
        && to.log == from.log
        && to.offset < from.offset
    {
        let what = format!("{to} is before the end of the backup at {from}");
        return Err(refused(what, "recover from an older backup").into());
    }
    let mut scan = Scan { until, transactions: 0, last: None, here: from.offset, is_there: false, cut: None };
    let mut logs = Vec::new();
    for path in chain(folder, &from.log)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let first = if logs.is_empty() { from.offset } else { MAGIC.len() as u64 };
        scan.here = first;
        let whole = walk(&path, &mut |group| scan.take(group, &name, first))?;
        logs.push(path);
        if let (Some(start), Until::Position(to)) = (scan.cut, until) {
            let what = format!("{to} is inside the transaction that begins at {start}");
            return Err(refused(what, "name the end of a transaction").into());
        }
        if scan.is_there || matches!(until, Until::Position(to) if to.log == name) {
            return Ok(scan.found(logs, from.offset));
        }
        scan.here = whole.max(first);
    }
    match until {
        Until::End | Until::Time(_) => Ok(scan.found(logs, from.offset)),
        Until::Gtid(gtid) => Err(beyond(&format!("transaction {gtid} is not in the logs since the backup"))),
        Until::Position(to) => Err(beyond(&format!("the logs in {} do not get to {to}", folder.display()))),
    }
}

fn beyond(what: &str) -> HaulError {
    refused(what, "name a folder with later logs, or an older backup").into()
}

struct Scan<'a> {
    until: &'a Until,
    transactions: u64,
    last: Option<Group>,
    /// End of what is applied of the log at hand.
    here: u64,
    is_there: bool,
    /// Begin of the transaction that the position would cut.
    cut: Option<u64>,
}

impl Scan<'_> {
    /// A transaction of the log of this name; those before `first` are in the backup.
    fn take(&mut self, group: &Group, log: &str, first: u64) {
        if self.is_there || group.start < first {
            return;
        }
        match self.until {
            Until::Time(second) if group.at >= *second => self.is_there = true,
            Until::Position(to) if to.log == log && group.end > to.offset => {
                self.is_there = true;
                self.cut = (group.start < to.offset).then_some(group.start);
            }
            _ => {
                self.transactions += 1;
                (self.last, self.here) = (Some(*group), group.end);
                self.is_there =
                    matches!(self.until, Until::Gtid(wanted) if *wanted == group.gtid.to_string());
            }
        }
    }

    fn found(self, logs: Vec<PathBuf>, from: u64) -> Stretch {
        Stretch { logs, from, to: self.here, transactions: self.transactions, last: self.last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log of events: kind, time and body.
    fn log(events: &[(u8, u32, &[u8])]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for (kind, at, body) in events {
            let size = (HEADER + body.len()) as u32;
            bytes.extend(at.to_le_bytes());
            bytes.push(*kind);
            bytes.extend(1_u32.to_le_bytes());
            bytes.extend(size.to_le_bytes());
            bytes.extend((bytes.len() as u32 - 13 + size).to_le_bytes());
            bytes.extend([0, 0]);
            bytes.extend(*body);
        }
        bytes
    }

    fn gtid(sequence: u64, standalone: bool) -> Vec<u8> {
        [&sequence.to_le_bytes()[..], &0_u32.to_le_bytes(), &[u8::from(standalone)]].concat()
    }

    fn query(text: &str) -> Vec<u8> {
        [&[0; 8][..], &[1], &[0, 0], &[2, 0], &[9, 9], b"d\0", text.as_bytes()].concat()
    }

    const FORMAT: (u8, u32, &[u8]) = (15, 0, &[0; 40]);

    struct Logs(tempfile::TempDir);

    impl Logs {
        /// Each with transactions of these numbers, each at the second of its number.
        fn of(logs: &[&[u64]]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            for (index, sequences) in logs.iter().enumerate() {
                let gtids: Vec<_> =
                    sequences.iter().map(|sequence| (gtid(*sequence, false), *sequence as u32)).collect();
                let mut events = vec![FORMAT];
                for (gtid, at) in &gtids {
                    events.extend([
                        (kind::GTID, *at, &gtid[..]),
                        (19, *at, &[0; 2000]),
                        (kind::XID, *at, &[0; 8]),
                    ]);
                }
                std::fs::write(folder.path().join(format!("bin.{:06}", index + 1)), log(&events)).unwrap();
            }
            Self(folder)
        }

        fn groups(&self, name: &str) -> Vec<Group> {
            let mut groups = Vec::new();
            walk(&self.0.path().join(name), &mut |group| groups.push(*group)).unwrap();
            groups
        }

        fn until(&self, until: &Until) -> Result<(u64, usize, u64), HaulError> {
            let first = self.groups("bin.000001")[0].end;
            let from = Position { log: "bin.000001".into(), offset: first };
            let found = stretch(self.0.path(), &from, until)?;
            Ok((found.transactions, found.logs.len(), found.to))
        }
    }

    fn at(log: &str, offset: u64) -> Until {
        Until::Position(Position { log: log.into(), offset })
    }

    #[test]
    fn a_recovery_goes_to_the_end_a_gtid_a_position_or_a_second() {
        let logs = Logs::of(&[&[1, 2, 3], &[4, 5]]);
        let (first, second) = (logs.groups("bin.000001"), logs.groups("bin.000002"));
        for (until, expected) in [
            (Until::End, (4, 2, second[1].end)),
            (Until::Gtid("0-1-4".into()), (3, 2, second[0].end)),
            (Until::Gtid("0-1-3".into()), (2, 1, first[2].end)),
            (at("bin.000001", first[1].end), (1, 1, first[1].end)),
            (at("bin.000002", second[0].end), (3, 2, second[0].end)),
            (at("bin.000002", second[0].start), (2, 2, MAGIC.len() as u64)),
            (Until::Time(5), (3, 2, second[0].end)),
            (Until::Time(2), (0, 1, first[0].end)),
            (Until::Time(9), (4, 2, second[1].end)),
        ] {
            assert_eq!(logs.until(&until).unwrap(), expected, "{until:?}");
        }
    }

    #[test]
    fn what_the_logs_do_not_have_is_refused() {
        let logs = Logs::of(&[&[1, 2], &[3], &[4]]);
        let first = logs.groups("bin.000001");
        for (until, words) in [
            (Until::Gtid("0-1-1".into()), "is not in the logs since the backup"),
            (Until::Gtid("0-1-9".into()), "is not in the logs since the backup"),
            (at("bin.000001", 5), "is before the end of the backup"),
            (at("bin.000001", first[1].start + 1), "is inside the transaction"),
            (at("bin.000009", 5), "do not get to"),
        ] {
            let error = logs.until(&until).unwrap_err().to_string();
            assert!(error.contains(words), "{until:?}: {error}");
        }
        std::fs::remove_file(logs.0.path().join("bin.000002")).unwrap();
        let error = logs.until(&Until::End).unwrap_err().to_string();
        assert!(error.contains("bin.000002 is not in"), "{error}");
    }

    #[test]
    fn a_transaction_ends_with_its_commit_and_a_cut_one_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bin.000001");
        let (several, single) = (gtid(1, false), gtid(2, true));
        let [statement, commit, ddl, begin] =
            ["INSERT INTO t VALUES (1)", "COMMIT", "CREATE TABLE t (a INT)", "BEGIN"].map(query);
        let mysql = [&[0][..], &[7; 16], &9_u64.to_le_bytes()].concat();
        let whole = log(&[
            FORMAT,
            (kind::GTID, 1, &several),
            (kind::QUERY, 1, &statement),
            (kind::QUERY, 1, &commit),
            (kind::GTID, 2, &single),
            (kind::QUERY, 2, &ddl),
            (kind::MYSQL_GTID, 3, &mysql),
            (kind::QUERY, 3, &begin),
            (kind::QUERY, 3, &statement),
            (kind::XID, 3, &[0; 8]),
            (kind::MYSQL_ANONYMOUS, 4, &[0; 30]),
            (kind::QUERY, 4, &ddl),
        ]);
        let tail = log(&[(kind::GTID, 5, &several), (kind::QUERY, 5, &statement)]);
        for cut in [0, 1, 5, tail.len() - MAGIC.len()] {
            std::fs::write(&path, [&whole[..], &tail[MAGIC.len()..][..cut]].concat()).unwrap();
            let mut names = Vec::new();
            let end = walk(&path, &mut |group| names.push(group.gtid.to_string())).unwrap();
            let source = "07070707-0707-0707-0707-070707070707:9";
            assert_eq!(names, ["0-1-1", "0-1-2", source, "no GTID"]);
            assert_eq!(end, whole.len() as u64);
        }
    }

    #[test]
    fn what_is_no_log_is_refused_and_no_bytes_are_too_strange() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bin.000001");
        for bytes in [&b""[..], b"abc", b"not a log at all"] {
            std::fs::write(&path, bytes).unwrap();
            assert!(walk(&path, &mut |_| {}).unwrap_err().to_string().contains("is not a binary log"));
        }
        let bytes =
            log(&[FORMAT, (kind::GTID, 1, &[1]), (kind::QUERY, 1, &[0xff; 20]), (kind::QUERY, 1, &[])]);
        for length in MAGIC.len()..bytes.len() {
            std::fs::write(&path, &bytes[..length]).unwrap();
            walk(&path, &mut |_| {}).unwrap();
        }
    }
}
