//! What a recording has, and what it lacks.

use super::LAST_PREPARED;
use super::import::Summary;
use super::log::Times;
use super::reads::reads_only;
use super::recording::Recording;
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
    pub statements: u64,
    /// Commands whose end is known.
    pub with_end: u64,
    pub with_rows: u64,
    pub with_error: u64,
    /// Statements that are sent where nothing may be written.
    pub sent_by_default: u64,
    pub databases: BTreeSet<String>,
    pub peak_per_s: u64,
    /// All that it lacks, by why: what a log cannot say, records that cannot be read, files whose writer died.
    pub left_out: BTreeMap<String, Left>,
}

/// Reads all of it once. A log that was made a capture has a summary.
pub fn check(recording: &Recording, summary: Option<&Summary>, stop: &Stop) -> io::Result<Check> {
    let places = || recording.sessions().iter().flat_map(|session| &session.commands);
    let mut check = Check {
        sources: recording.headers.clone(),
        sessions: recording.sessions().len() as u64,
        late_sessions: recording.sessions().iter().filter(|session| session.is_late).count() as u64,
        commands: recording.commands() as u64,
        with_end: places().filter(|place| place.end().is_some()).count() as u64,
        left_out: left_out(recording, summary),
        ..Check::default()
    };
    let (mut per_second, mut buffer) = (HashMap::<u64, u64>::new(), Vec::new());
    for session in recording.sessions() {
        check.database(&session.database);
        let mut prepared = Prepared::new();
        for place in &session.commands {
            if stop.is_set() {
                return Ok(check);
            }
            if check.command(&recording.read(place, &mut buffer)?, &mut prepared).is_some() {
                *per_second.entry(place.start / 1_000_000_000).or_default() += 1;
            }
        }
    }
    if summary.is_none_or(|summary| summary.log.times != Times::None) {
        let seconds = |at: u64| at as f64 / 1e9;
        check.from_unix_s = places().map(|place| place.start).min().map(seconds);
        check.to_unix_s = places().map(|place| place.end().unwrap_or(place.start)).max().map(seconds);
        check.peak_per_s = per_second.into_values().max().unwrap_or_default();
    }
    Ok(check)
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
    let named: u64 = recording.left_out.iter().map(|left| left.commands).sum();
    let files = [
        ("damaged", recording.damaged),
        ("cut-files", recording.cut),
        ("unended-files", recording.unended),
        ("after-end", recording.not_kept.saturating_sub(named)),
    ];
    for (name, count) in whys.chain(files) {
        if count > 0 {
            all.entry(name.to_owned()).or_default().count += count;
        }
    }
    all
}

/// Statements that were asked and that a replay cannot send, since they are not in the recording.
pub fn not_kept(recording: &Recording, summary: Option<&Summary>) -> u64 {
    let all = left_out(recording, summary);
    let lost = ["too-long", "behind", "not-repeatable", "cut", "after-end"];
    lost.iter().filter_map(|name| all.get(*name)).map(|left| left.count).sum()
}

/// Whether what a session has prepared only reads, by its number; that of the newest is `LAST_PREPARED` as well.
type Prepared = HashMap<u32, bool>;

impl Check {
    /// Counts a command; `None` where it is no statement, or one whose preparation is not in the recording.
    fn command(&mut self, asked: &Asked<'_>, prepared: &mut Prepared) -> Option<()> {
        self.with_rows += u64::from(asked.answer.rows.is_some());
        self.with_error += u64::from(asked.answer.error.is_some());
        let (number, rest) = asked.command.split_first()?;
        let statement = || rest.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)).unwrap_or_default();
        let of = match CommandKind::of(*number) {
            CommandKind::Query => Some(reads_only(rest)),
            CommandKind::Execute => {
                let of = prepared.get(&statement()).copied();
                if of.is_none() {
                    self.left_out.entry("unprepared".to_owned()).or_default().count += 1;
                }
                of
            }
            CommandKind::Prepare => {
                let numbers = [Some(LAST_PREPARED), asked.answer.statement];
                prepared.extend(numbers.into_iter().flatten().map(|number| (number, reads_only(rest))));
                None
            }
            CommandKind::Close => prepared.remove(&statement()).and(None),
            CommandKind::InitDb => {
                self.database(rest);
                None
            }
            _ => None,
        };
        let is_sent = of?;
        self.statements += 1;
        self.sent_by_default += u64::from(is_sent);
        Some(())
    }

    fn database(&mut self, name: &[u8]) {
        if !name.is_empty() && self.databases.len() < DATABASES_MAX {
            self.databases.insert(String::from_utf8_lossy(name).into_owned());
        }
    }
}
