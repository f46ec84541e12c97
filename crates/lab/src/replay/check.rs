//! What a recording has, and what it lacks.

use super::LAST_PREPARED;
use super::import::Summary;
use super::reads::{Kind, kind, reads_only};
use super::recording::{Place, Recording, SessionIndex};
use evenkeel_os::Stop;
use evenkeel_wire::capture::{Asked, Why};
use evenkeel_wire::relay::CommandKind;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

/// Most databases that are named.
const DATABASES_MAX: usize = 1_000;

/// How many of one kind are not in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Left {
    pub count: u64,
    /// In the log, where it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_line: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Check {
    /// Where it comes from: the first line of each file.
    pub sources: Vec<serde_json::Value>,
    /// Seconds since 1970; `None` where it has no times.
    pub from_unix_s: Option<f64>,
    pub to_unix_s: Option<f64>,
    pub sessions: u64,
    /// Sessions that had begun before it, or of which it does not say when they began.
    pub late_sessions: u64,
    pub commands: u64,
    /// Statements by what they are about.
    pub statements: BTreeMap<Kind, u64>,
    /// Commands whose end is known.
    pub with_end: u64,
    pub with_rows: u64,
    pub with_error: u64,
    /// Executions of prepared statements, with their parameters.
    pub executions: u64,
    /// Those of them whose preparation is not in it: they cannot be sent.
    pub executions_unprepared: u64,
    /// Statements that are sent where nothing may be written.
    pub sent_by_default: u64,
    pub databases: BTreeSet<String>,
    pub peak_per_s: u64,
    /// All that it lacks, by why: what a log cannot say, records that cannot be read, files whose writer died.
    pub left_out: BTreeMap<String, Left>,
}

/// Reads all of it once. A log that was made a capture has a summary.
pub fn check(recording: &Recording, summary: Option<&Summary>, stop: &Stop) -> io::Result<Check> {
    let mut checking = Checking::default();
    let check = &mut checking.check;
    check.sources.clone_from(&recording.headers);
    check.sessions = recording.sessions().len() as u64;
    check.late_sessions = recording.sessions().iter().filter(|session| session.is_late).count() as u64;
    check.left_out = left_out(recording, summary);
    for session in recording.sessions() {
        if stop.is_set() {
            break;
        }
        checking.session(recording, session)?;
    }
    Ok(checking.finish(summary))
}

fn left_out(recording: &Recording, summary: Option<&Summary>) -> BTreeMap<String, Left> {
    let mut all: BTreeMap<String, Left> = BTreeMap::new();
    for (why, (count, line)) in summary.iter().flat_map(|summary| &summary.skipped) {
        let name = serde_json::to_value(why).ok().and_then(|name| name.as_str().map(str::to_owned));
        all.insert(name.unwrap_or_default(), Left { count: *count, first_line: Some(*line) });
    }
    let whys = recording.left_out.iter().map(|left| match left.why {
        Why::TooLong => ("too-long", left.commands),
        Why::Behind => ("behind", left.commands),
        Why::NotRepeatable => ("not-repeatable", left.commands),
    });
    for (name, count) in whys.chain([("damaged", recording.damaged), ("cut-files", recording.cut)]) {
        if count > 0 {
            all.entry(name.to_owned()).or_default().count += count;
        }
    }
    all
}

#[derive(Default)]
struct Checking {
    check: Check,
    buffer: Vec<u8>,
    per_second: HashMap<u64, u64>,
    first: Option<u64>,
    last: u64,
}

/// What a statement is about, and whether it is sent where nothing may be written.
fn kind_of(sql: &[u8]) -> (Kind, bool) {
    let reads = reads_only(sql);
    (kind(sql, reads), reads)
}

/// What a session has prepared, by its number; that of the newest is `LAST_PREPARED` as well.
type Prepared = HashMap<u32, (Kind, bool)>;

impl Checking {
    fn session(&mut self, recording: &Recording, session: &SessionIndex) -> io::Result<()> {
        self.database(&session.database);
        let mut prepared = Prepared::new();
        let mut buffer = std::mem::take(&mut self.buffer);
        for place in &session.commands {
            let asked = recording.read(place, &mut buffer)?;
            self.count(place, &asked);
            self.command(&asked, &mut prepared);
        }
        self.buffer = buffer;
        Ok(())
    }

    fn count(&mut self, place: &Place, asked: &Asked<'_>) {
        let check = &mut self.check;
        check.commands += 1;
        check.with_end += u64::from(asked.end.is_some());
        check.with_rows += u64::from(asked.answer.rows.is_some());
        check.with_error += u64::from(asked.answer.error.is_some());
        self.first = Some(self.first.map_or(place.start, |first| first.min(place.start)));
        self.last = self.last.max(place.end().unwrap_or(place.start));
    }

    fn command(&mut self, asked: &Asked<'_>, prepared: &mut Prepared) {
        let Some((number, rest)) = asked.command.split_first() else { return };
        let (kind, is_sent) = match CommandKind::of(*number) {
            CommandKind::InitDb => return self.database(rest),
            CommandKind::Query => kind_of(rest),
            CommandKind::Prepare => {
                let numbers = [Some(LAST_PREPARED), asked.answer.statement];
                prepared.extend(numbers.into_iter().flatten().map(|number| (number, kind_of(rest))));
                return;
            }
            CommandKind::Execute => {
                self.check.executions += 1;
                let number = rest.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)).unwrap_or_default();
                let Some(of) = prepared.get(&number) else {
                    self.check.executions_unprepared += 1;
                    return;
                };
                *of
            }
            CommandKind::Close => {
                prepared.retain(|number, _| Some(&number.to_le_bytes()) != rest.first_chunk());
                return;
            }
            _ => return,
        };
        *self.check.statements.entry(kind).or_default() += 1;
        self.check.sent_by_default += u64::from(is_sent);
        *self.per_second.entry(asked.start / 1_000_000_000).or_default() += 1;
    }

    fn database(&mut self, name: &[u8]) {
        if !name.is_empty() && self.check.databases.len() < DATABASES_MAX {
            self.check.databases.insert(String::from_utf8_lossy(name).into_owned());
        }
    }

    fn finish(mut self, summary: Option<&Summary>) -> Check {
        let has_times = summary.is_none_or(|summary| summary.log.times != super::log::Times::None);
        if let Some(first) = self.first.filter(|_| has_times) {
            self.check.from_unix_s = Some(first as f64 / 1e9);
            self.check.to_unix_s = Some(self.last as f64 / 1e9);
            self.check.peak_per_s = self.per_second.values().copied().max().unwrap_or_default();
        }
        self.check
    }
}
