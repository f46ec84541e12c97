//! Binary logs, as far as a recovery has to read them: where each transaction begins and ends, its GTID and its time.
//!
//! Source: "Binary log event structure" of the MySQL source documentation, and MariaDB's log_event.h for its own events.

use crate::{HaulError, refused};
use std::fmt;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

pub(super) const MAGIC: [u8; 4] = [0xfe, b'b', b'i', b'n'];
const HEADER: usize = 19;
/// What is read of an event: enough of a GTID, and of a statement to know how it begins. Status variables of a statement take less.
const START: usize = 1024;

/// Numbers of events.
mod kind {
    pub const QUERY: u8 = 2;
    pub const ROTATE: u8 = 4;
    pub const XID: u8 = 16;
    pub const MYSQL_GTID: u8 = 33;
    pub const MYSQL_ANONYMOUS: u8 = 34;
    pub const XA_PREPARE: u8 = 38;
    /// A transaction that is compressed as a whole.
    pub const MYSQL_PAYLOAD: u8 = 40;
    pub const MYSQL_TAGGED_GTID: u8 = 42;
    pub const ENCRYPTION: u8 = 164;
    pub const GTID: u8 = 162;
    pub const QUERY_COMPRESSED: u8 = 165;
}

/// Statements that end a transaction of several.
const ENDS: [&[u8]; 4] = [b"COMMIT", b"ROLLBACK", b"XA COMMIT", b"XA ROLLBACK"];

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
pub struct Transaction {
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

/// What a log has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walked {
    /// When the server began it, in seconds since 1970.
    pub begun_at: u32,
    /// Where its last whole transaction ends.
    pub whole: u64,
    /// Its length: what is behind `whole` a kill has left.
    pub length: u64,
    /// Whether the server went on in another log.
    pub is_rotated: bool,
}

/// Hands out the whole transactions of a log.
/// Errors: it cannot be read, is no binary log, or has what is not read here.
pub fn walk(path: &Path, each: &mut dyn FnMut(&Transaction)) -> Result<Walked, HaulError> {
    let mut log = Log::open(path)?;
    let mut walked = Walked { begun_at: 0, whole: log.offset, length: log.length, is_rotated: false };
    let mut open: Option<Open> = None;
    while let Some(event) = log.next()? {
        let refuse = |what: &str| {
            let what = format!("{} at {}: {what}", path.display(), event.offset);
            Err(refused(what, "recover with the server's own programs (mariadb-binlog, mysqlbinlog)").into())
        };
        if walked.begun_at == 0 {
            walked.begun_at = event.at;
        }
        match event.kind {
            kind::ENCRYPTION => return refuse("it is encrypted, which is not supported"),
            kind::MYSQL_TAGGED_GTID => return refuse("GTIDs with tags are not supported"),
            kind::ROTATE => walked.is_rotated = true,
            _ => {}
        }
        if let Some(gtid) = event.gtid() {
            if open.is_some() {
                return refuse("a transaction begins before the last one has ended");
            }
            open = Some(Open { gtid, at: event.at, start: event.offset, is_several: event.begins_several() });
            continue;
        }
        let Some(begun) = &mut open else {
            walked.whole = event.end();
            continue;
        };
        if begun.ends(&event) {
            let Open { gtid, at, start, .. } = *begun;
            walked.whole = event.end();
            each(&Transaction { gtid, at, start, end: walked.whole });
            open = None;
        }
    }
    Ok(walked)
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
            kind::XID | kind::XA_PREPARE | kind::MYSQL_PAYLOAD => true,
            kind::QUERY_COMPRESSED => !self.is_several,
            kind::QUERY if event.says(b"BEGIN") || event.says(b"XA START") => {
                self.is_several = true;
                false
            }
            kind::QUERY => {
                !self.is_several || ENDS.iter().any(|words| event.says(words)) && !event.says(b"ROLLBACK TO")
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A log of events: kind, time and body.
    pub fn log(events: &[(u8, u32, &[u8])]) -> Vec<u8> {
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

    pub fn gtid(sequence: u64, standalone: bool) -> Vec<u8> {
        [&sequence.to_le_bytes()[..], &0_u32.to_le_bytes(), &[u8::from(standalone)]].concat()
    }

    fn query(text: &str) -> Vec<u8> {
        [&[0; 8][..], &[1], &[0, 0], &[2, 0], &[9, 9], b"d\0", text.as_bytes()].concat()
    }

    pub const FORMAT: (u8, u32, &[u8]) = (15, 0, &[0; 40]);

    pub const GTID: u8 = kind::GTID;
    pub const XID: u8 = kind::XID;
    pub const ROTATE: u8 = kind::ROTATE;

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
            let walked = walk(&path, &mut |found| names.push(found.gtid.to_string())).unwrap();
            let source = "07070707-0707-0707-0707-070707070707:9";
            assert_eq!(names, ["0-1-1", "0-1-2", source, "no GTID"]);
            assert_eq!((walked.whole, walked.length), (whole.len() as u64, (whole.len() + cut) as u64));
        }
    }

    /// How many transactions such events are, and whether there is nothing behind the last of them; or why they are refused.
    fn walked(events: &[(u8, Vec<u8>)]) -> Result<(u32, bool), String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bin.000001");
        let all: Vec<(u8, u32, &[u8])> =
            events.iter().map(|(kind, body)| (*kind, 1, body.as_slice())).collect();
        std::fs::write(&path, log(&[&[FORMAT][..], &all].concat())).unwrap();
        let mut count = 0;
        let walked = walk(&path, &mut |_| count += 1).map_err(|error| error.to_string())?;
        Ok((count, walked.whole == walked.length))
    }

    #[test]
    fn savepoints_and_the_end_of_xa_end_no_transaction() {
        let begin = || (GTID, gtid(1, false));
        let say = |text: &str| (kind::QUERY, query(text));
        let commit = || (XID, vec![0; 8]);
        assert_eq!(walked(&[begin(), say("ROLLBACK TO a")]).unwrap(), (0, false));
        assert_eq!(walked(&[begin(), say("ROLLBACK TO a"), commit()]).unwrap(), (1, true));
        assert_eq!(walked(&[begin(), say("XA START X'61'"), say("XA END X'61'")]).unwrap(), (0, false));
        let prepare = (kind::XA_PREPARE, vec![0; 20]);
        assert_eq!(
            walked(&[begin(), say("XA START X'61'"), say("XA END X'61'"), prepare]).unwrap(),
            (1, true)
        );
        let payload = [(kind::MYSQL_ANONYMOUS, vec![0; 30]), (kind::MYSQL_PAYLOAD, vec![0; 30])];
        assert_eq!(walked(&payload).unwrap(), (1, true));
    }

    #[test]
    fn what_is_not_read_is_refused_in_words() {
        let begin = |number| (GTID, gtid(number, false));
        for (events, words) in [
            (vec![(kind::ENCRYPTION, vec![0; 20])], "encrypted"),
            (vec![(kind::MYSQL_TAGGED_GTID, vec![0; 20])], "tags"),
            (vec![begin(1), (19, vec![0; 9]), begin(2)], "begins before the last one has ended"),
        ] {
            let error = walked(&events).unwrap_err();
            assert!(error.contains(words), "{error}");
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
