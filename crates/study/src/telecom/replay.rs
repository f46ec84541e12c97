//! The replayed log: statements like the published ones, made by a seed, sent by clients of whom each sends them all; and large ones
//! beside small ones.

use super::bench::{Bench, TABLE};
use super::record::{CHANNELS, MIXED, SPREAD, Setting, TUNED, WATCHED, WITH_DATA, channel_domain};
use crate::harness::Run;
use crate::profile::Monitor;
use crate::published::{At, PrivateServer, PublishedError, Result, While, timed};
use evenkeel_core::random::{Random, Seed};
use evenkeel_haul::load::Indexes;
use evenkeel_lab::replay::play::{Counts, Options, Pace, Replay, Who};
use evenkeel_lab::replay::{Played, Recording};
use evenkeel_site::sandbox::{DomainError, SandboxSpec};
use evenkeel_wire::capture::{Answer, Asked, MAGIC, Opened, Record};
use std::collections::BTreeSet;
use std::fs;
use std::slice::from_ref;
use std::sync::atomic::{AtomicU64, Ordering};

/// As published: statements of ten hours, and those of them with large results.
const STATEMENTS: u64 = 5_112;
const LARGE: u64 = 63;
const LARGE_ROWS: (u64, u64) = (64_415, 497_848);
const SMALL_ROWS: u64 = 1_000;
const HOURS_S: u64 = 10 * 3_600;
/// Statements of each kind side by side.
const SIDE_BY_SIDE: u64 = 100;
/// As many as there were of the published clients.
const CLIENTS_MOST: u32 = 28;
/// Where not all rows are there, large results have this share of them at most.
const SHARE_MAX: f64 = 0.5;

impl Bench {
    /// Sends the log by so many clients, or large and small statements by half of them each; longest times by kind.
    pub fn replay_run(&mut self, part: &str, clients: u32, way: &str) -> Result<Run> {
        self.make_ready(true)?;
        let days = &self.files.days[..1];
        let (rows, _) = self.load(TUNED, Indexes::After, days)?;
        let mut run = Run::default();
        self.audit(days, &[TABLE], &mut run)?;
        let script = |large, small| self.script(rows, large, small);
        let log = match part {
            MIXED | CHANNELS => script(SIDE_BY_SIDE, 0)?.beside(script(0, SIDE_BY_SIDE)?),
            _ => script(LARGE, STATEMENTS - LARGE)?,
        };
        let pid = self.server.pid()?;
        let monitor = (way == WATCHED).then(|| Monitor::start(&self.target, pid, &self.stop)).transpose()?;
        let longest = Longest { large_rows: scaled(rows, LARGE_ROWS.0), ..Longest::default() };
        let watch = self.watch()?;
        let (sent, seconds) = timed(|| self.send(&log, clients, way == SPREAD, &longest))?;
        let used = watch.end();
        used.note(&mut run);
        run.set("seconds", seconds);
        run.set("statements_per_s", sent as f64 / seconds);
        run.set("cpu_us_per_statement", used.first_s.map(|server_s| 1e6 * server_s / sent.max(1) as f64));
        if let Some(monitor) = monitor {
            monitor.end(&self.stop);
        }
        let in_s = |nanos: &AtomicU64| nanos.load(Ordering::Relaxed) as f64 / 1e9;
        run.set("large_s", in_s(&longest.large));
        run.set("small_s", in_s(&longest.small));
        Ok(run)
    }

    /// The same on a server of its own, with its temporary files there or elsewhere.
    pub fn channels_run(&mut self, at: &At<'_, Setting>, tmpdir: &str) -> Result<Run> {
        let name = format!("{}-channel", at.plan.private_name());
        let mut spec = SandboxSpec::new(at.workplace.home, &name);
        spec.domain = channel_domain(&at.setting)
            .parse()
            .map_err(|error: DomainError| PublishedError::wrong(error.to_string()))?;
        spec.settings = at.setting.server(true).into_iter().collect();
        // Sorts of large results become files.
        spec.settings.insert("sort_buffer_size".to_owned(), "256K".to_owned());
        let mut server = PrivateServer::up(&at.workplace, &spec)?;
        if tmpdir == WITH_DATA {
            // The disk is there now.
            let data = at.workplace.home.join("sandboxes").join(&name).join("disk/data");
            server.restart([("tmpdir".to_owned(), data.display().to_string())], &self.stop)?;
        }
        let server = std::mem::replace(&mut self.server, server);
        let was_tuned = std::mem::replace(&mut self.is_tuned, true);
        let done = self.replay_run(CHANNELS, CLIENTS_MOST, tmpdir);
        (self.server, self.is_tuned) = (server, was_tuned);
        done
    }

    /// Sends the log; the commands that were sent. An error of any of them ends the study.
    fn send(&self, recording: &Recording, clients: u32, spread: bool, longest: &Longest) -> Result<u64> {
        let (counts, take) = (Counts::default(), |played: &Played, _: &[u8]| longest.note(played));
        let options = Options {
            who: Who::Clients(clients),
            pace: Pace::Flat,
            writes: false,
            ordered: false,
            spread: spread.then_some(longest.large_rows),
            hashes: false,
            shift_to: None,
        };
        let replay = Replay {
            recording,
            targets: from_ref(&self.target),
            options,
            time_zone: None,
            stored: &BTreeSet::new(),
            counts: &counts,
            stop: &self.stop,
            take: &take,
            past: None,
        };
        replay.run();
        let (sent, failed) = (counts.played.load(Ordering::Relaxed), longest.failed.load(Ordering::Relaxed));
        match sent == replay.commands() && failed == 0 {
            true => Ok(sent),
            false => Err(PublishedError::wrong(format!("{sent} statements were sent, and {failed} failed"))),
        }
    }

    /// A log of so many statements with large and with small results, drawn by the study's seed, in any order.
    fn script(&self, rows: u64, large: u64, small: u64) -> Result<Recording> {
        let path = self.files.scratch.path().join(format!("log-{large}-{small}.capture"));
        let mut random = Random::new(Seed(self.setting.seed).child("statements").numbered(large));
        let mut kinds: Vec<bool> = (0..large + small).map(|number| number < large).collect();
        for at in (1..kinds.len()).rev() {
            kinds.swap(at, random.uniform(0, at as u64) as usize);
        }
        let mut bytes = [&MAGIC[..], b"{\"source\":\"study\"}\n"].concat();
        let database = self.target.database.as_deref().unwrap_or_default().as_bytes();
        Record::Opened(Opened { session: 1, at: 0, user: b"study", database, is_late: false })
            .write(&mut bytes);
        for (number, is_large) in (0..).zip(kinds) {
            let (count, sql) = statement(is_large, rows, &mut random);
            let start = number * HOURS_S * 1_000_000_000 / STATEMENTS;
            let answer = Answer { rows: Some(count), ..Answer::default() };
            let command = &[b"\x03", sql.as_bytes()].concat();
            Record::Asked(Asked { session: 1, start, end: None, command, answer }).write(&mut bytes);
        }
        fs::write(&path, &bytes).doing(|| format!("writing {}", path.display()))?;
        Recording::open(&path).doing(|| "reading the log")
    }
}

/// Rows of a published result, where there are so many rows.
fn scaled(rows: u64, count: u64) -> u64 {
    let scale = (SHARE_MAX * rows as f64 / LARGE_ROWS.1 as f64).min(1.0);
    ((count as f64 * scale) as u64).max(2)
}

/// A report that is sorted, as large as one of the published, or a look at some calls; with its rows.
fn statement(is_large: bool, rows: u64, random: &mut Random) -> (u64, String) {
    let least = scaled(rows, LARGE_ROWS.0);
    let count = match is_large {
        true => random.uniform(least, scaled(rows, LARGE_ROWS.1)),
        false => random.uniform(1, SMALL_ROWS.min(least - 1)),
    };
    let first = random.uniform(1, rows.saturating_sub(count).max(1));
    let order = if is_large { "called, start" } else { "seq" };
    let sql = format!(
        "SELECT seq, calling, called, start, seconds, cell, amount FROM {TABLE} WHERE seq BETWEEN {first} AND {} ORDER BY {order}",
        first + count - 1
    );
    (count, sql)
}

/// Longest times of statements with large and with small results, nanoseconds; and how many failed.
#[derive(Default)]
struct Longest {
    /// Rows of the smallest large result.
    large_rows: u64,
    large: AtomicU64,
    small: AtomicU64,
    failed: AtomicU64,
}

impl Longest {
    fn note(&self, played: &Played) {
        let Some(answer) = &played.answers[0] else { return };
        let is_wrong = answer.error.is_some() || played.recorded.rows != Some(answer.rows);
        self.failed.fetch_add(u64::from(is_wrong), Ordering::Relaxed);
        let of = if answer.rows >= self.large_rows { &self.large } else { &self.small };
        of.fetch_max(answer.response.0, Ordering::Relaxed);
    }
}
