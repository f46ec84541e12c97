//! Which part of a chain of binary logs a recovery applies.

use super::binlog::{MAGIC, Position, Transaction, Walked, walk};
use crate::{HaulError, refused};
use std::path::{Path, PathBuf};

/// Logs of a folder, from one on, in their order.
/// Errors: none of this name is there, or one behind it is missing.
pub fn chain(folder: &Path, first: &str) -> Result<Vec<PathBuf>, HaulError> {
    let (base, number) = split(first).ok_or_else(|| missing(folder, first))?;
    let entries = folder.read_dir().map_err(HaulError::io("read", folder))?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let last =
        names.filter_map(|name| split(&name).filter(|(of, _)| *of == base).map(|(_, number)| number)).max();
    let digits = first.len() - base.len() - 1;
    let name = |number: u64| format!("{base}.{number:0digits$}");
    let wanted = number..=last.unwrap_or(number).max(number);
    match wanted.clone().find(|number| !folder.join(name(*number)).exists()) {
        Some(gone) => Err(missing(folder, &name(gone))),
        None => Ok(wanted.map(|number| folder.join(name(number))).collect()),
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
pub struct LogRange {
    pub logs: Vec<PathBuf>,
    /// In the first log.
    pub from: u64,
    /// In the last log.
    pub to: u64,
    pub transactions: u64,
    /// Bytes behind the last whole transaction, which a kill has left.
    pub cut: u64,
    pub last: Option<Transaction>,
}

/// Finds what is to be applied, from a position on.
/// Errors: a log is missing, damaged or cannot be read, or the logs do not get there.
pub fn range(folder: &Path, from: &Position, until: &Until) -> Result<LogRange, HaulError> {
    if let Until::Position(to) = until
        && to.log == from.log
        && to.offset < from.offset
    {
        let what = format!("{to} is before the end of the backup at {from}");
        return Err(refused(what, "recover from an older backup").into());
    }
    let mut scan = Scan {
        until,
        transactions: 0,
        last: None,
        here: from.offset,
        is_there: false,
        inside: None,
        before: 0,
    };
    let paths = chain(folder, &from.log)?;
    let (mut logs, mut end) = (Vec::new(), from.offset);
    for path in &paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let first = if logs.is_empty() { from.offset } else { MAGIC.len() as u64 };
        scan.here = first;
        let walked = walk(path, &mut |transaction| scan.take(transaction, &name, first))?;
        if logs.is_empty() {
            check_time(until, scan.before.max(walked.begun_at), from)?;
        }
        logs.push(path.clone());
        if scan.is_there && scan.here == MAGIC.len() as u64 {
            // Nothing of this log is wanted, and the server does not read a log without events.
            logs.pop();
            scan.here = end;
        }
        if scan.is_there || matches!(until, Until::Position(to) if to.log == name) {
            check_position(until, &scan, &walked)?;
            return Ok(scan.found(logs, from.offset, 0));
        }
        let is_last = logs.len() == paths.len();
        check_whole(path, folder, &walked, is_last)?;
        scan.here = walked.whole.max(first);
        end = walked.length;
        if is_last && *until == Until::End {
            return Ok(scan.found(logs, from.offset, walked.length - walked.whole));
        }
    }
    Err(beyond(&match until {
        Until::Gtid(gtid) => format!("transaction {gtid} is not in the logs since the backup"),
        Until::Position(to) => format!("the logs in {} do not get to {to}", folder.display()),
        Until::End | Until::Time(_) => {
            format!(
                "the logs in {} have no transaction of that time or later: without --until all is applied",
                folder.display()
            )
        }
    }))
}

/// Whether the backup holds nothing of a time or later; `newest` is the last that is known of what it holds.
fn check_time(until: &Until, newest: u32, from: &Position) -> Result<(), HaulError> {
    match until {
        Until::Time(second) if newest >= *second => {
            let what = format!("the backup ends at {from}, which is after that time");
            Err(refused(what, "recover from an older backup").into())
        }
        _ => Ok(()),
    }
}

/// Whether a position is between two transactions of its log.
fn check_position(until: &Until, scan: &Scan<'_>, walked: &Walked) -> Result<(), HaulError> {
    let Until::Position(to) = until else { return Ok(()) };
    if to.offset > walked.length {
        return Err(beyond(&format!("{to} is behind the end of that log, {}", walked.length)));
    }
    scan.inside.map_or(Ok(()), |start| {
        let what = format!("{to} is inside the transaction that begins at {start}");
        Err(refused(what, "name the end of a transaction").into())
    })
}

/// Whether a log that another one follows is whole, and the server went on in none that is not there.
fn check_whole(path: &Path, folder: &Path, walked: &Walked, is_last: bool) -> Result<(), HaulError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if is_last && walked.is_rotated {
        return Err(missing(folder, &format!("that follows {name}")));
    }
    match is_last || walked.whole == walked.length {
        true => Ok(()),
        false => {
            let what = format!(
                "{} is damaged: the transaction at offset {} is incomplete",
                path.display(),
                walked.whole
            );
            Err(refused(what, "get that log from another copy").into())
        }
    }
}

fn beyond(what: &str) -> HaulError {
    refused(what, "name a folder with later logs, or an older backup").into()
}

struct Scan<'a> {
    until: &'a Until,
    transactions: u64,
    last: Option<Transaction>,
    /// End of what is applied of the log at hand.
    here: u64,
    is_there: bool,
    /// Begin of the transaction that the position is inside of.
    inside: Option<u64>,
    /// When the last transaction began that is in the backup.
    before: u32,
}

impl Scan<'_> {
    /// A transaction of the log of this name; those before `first` are in the backup.
    fn take(&mut self, found: &Transaction, log: &str, first: u64) {
        if found.start < first {
            self.before = self.before.max(found.at);
        }
        if self.is_there || found.start < first {
            return;
        }
        match self.until {
            Until::Time(second) if found.at >= *second => self.is_there = true,
            Until::Position(to) if to.log == log && found.end > to.offset => {
                self.is_there = true;
                self.inside = (found.start < to.offset).then_some(found.start);
            }
            _ => {
                self.transactions += 1;
                (self.last, self.here) = (Some(*found), found.end);
                self.is_there =
                    matches!(self.until, Until::Gtid(wanted) if *wanted == found.gtid.to_string());
            }
        }
    }

    fn found(self, logs: Vec<PathBuf>, from: u64, cut: u64) -> LogRange {
        LogRange { logs, from, to: self.here, transactions: self.transactions, cut, last: self.last }
    }
}

#[cfg(test)]
mod tests {
    use super::super::binlog::tests::{FORMAT, GTID, ROTATE, XID, gtid, log};
    use super::*;

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
                    events.extend([(GTID, *at, &gtid[..]), (19, *at, &[0; 2000]), (XID, *at, &[0; 8])]);
                }
                std::fs::write(folder.path().join(format!("bin.{:06}", index + 1)), log(&events)).unwrap();
            }
            Self(folder)
        }

        fn groups(&self, name: &str) -> Vec<Transaction> {
            let mut groups = Vec::new();
            walk(&self.0.path().join(name), &mut |group| groups.push(*group)).unwrap();
            groups
        }

        fn until(&self, until: &Until) -> Result<(u64, usize, u64), HaulError> {
            let first = self.groups("bin.000001")[0].end;
            let from = Position { log: "bin.000001".into(), offset: first };
            let found = range(self.0.path(), &from, until)?;
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
            (at("bin.000002", second[0].start), (2, 1, first[2].end)),
            (Until::Time(4), (2, 1, first[2].end)),
            (Until::Time(5), (3, 2, second[0].end)),
            (Until::Time(2), (0, 1, first[0].end)),
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
            (at("bin.000003", 9_999_999), "is behind the end of that log"),
            (Until::Time(1), "the backup ends at bin.000001"),
            (Until::Time(9), "no transaction of that time or later"),
        ] {
            let error = logs.until(&until).unwrap_err().to_string();
            assert!(error.contains(words), "{until:?}: {error}");
        }
        std::fs::remove_file(logs.0.path().join("bin.000002")).unwrap();
        let error = logs.until(&Until::End).unwrap_err().to_string();
        assert!(error.contains("bin.000002 is not in"), "{error}");
    }

    #[test]
    fn a_log_that_is_damaged_in_the_middle_or_is_followed_by_none_that_is_there_is_refused() {
        let logs = Logs::of(&[&[1, 2], &[3]]);
        let path = logs.0.path().join("bin.000001");
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        assert!(logs.until(&Until::End).unwrap_err().to_string().contains("bin.000001 is damaged"));
        std::fs::write(&path, &whole).unwrap();
        let last = logs.0.path().join("bin.000002");
        let rotation = log(&[(ROTATE, 1, b"........bin.000003")]);
        std::fs::write(&last, [&std::fs::read(&last).unwrap()[..], &rotation[MAGIC.len()..]].concat())
            .unwrap();
        assert!(
            logs.until(&Until::End).unwrap_err().to_string().contains("that follows bin.000002 is not in")
        );
    }
}
