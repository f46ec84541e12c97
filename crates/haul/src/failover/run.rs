//! A failover from the first write to the old primary's return.

use super::fault::Fault;
use super::group::{Mode, Node, accounts};
use super::timeline::Timeline;
use crate::drill::Tell;
use crate::ledger::{Account, Fate, Ledger, Plan, TABLE, Write, Writing, audit};
use crate::{HaulError, refused};
use evenkeel_core::random::{Random, Seed};
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use evenkeel_site::sandbox;
use evenkeel_site::server::Control;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

const DATABASE: &str = "evenkeel_drill";
const PRIMARY: &str = "drill-primary";
const WRITERS: u32 = 8;
/// Writes before the fault, and a random part of a second more.
const BEFORE: Duration = Duration::from_secs(2);
/// Writes after the first success.
const AFTER: Duration = Duration::from_secs(2);
/// The longest time in which writes have to succeed again.
const RECOVERY: Duration = Duration::from_secs(60);
/// The primary is asked so often; silent for so long, and as often in a row, it has failed.
const LOOK_EVERY: Duration = Duration::from_millis(100);
const SILENCE: Duration = Duration::from_millis(500);
const FAILURES: u32 = 3;
/// Longest wait of a writer for an answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// The old primary follows the new one within this time, or cannot.
const REJOIN: Duration = Duration::from_secs(10);

/// A failover on private servers.
pub struct Failover<'a> {
    pub home: &'a Path,
    pub server_binary: Option<PathBuf>,
    pub replicas: u32,
    pub mode: Mode,
    pub fault: Fault,
    /// Writes per second.
    pub rate: f64,
    pub seed: Seed,
    pub stop: &'a Stop,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    pub timeline: Timeline,
    /// Transactions that the replica which was promoted had not received when the fault came.
    pub behind: u64,
    /// What became of the writes, on the new primary.
    pub account: Account,
    /// Writes that only the old primary has.
    pub extra: Vec<Write>,
    /// Of these, those that it had acknowledged.
    pub extra_acknowledged: usize,
    /// Why the old primary does not follow the new one; `None` where it does.
    pub does_not_follow: Option<String>,
}

impl Failover<'_> {
    /// Makes it, and removes all servers of it.
    /// Errors: a step that cannot be done, with what it said; or somebody asked to stop.
    pub fn run(&self, tell: Tell<'_>) -> Result<Report, HaulError> {
        let place = Place::new(self.home, self.replicas)?;
        tell(&format!("starting a primary and {} replica(s)", self.replicas));
        let (mut primary, mut replicas) = self.group(tell)?;
        let folder =
            tempfile::tempdir().map_err(HaulError::io("create a folder in", &std::env::temp_dir()))?;
        let ledger = folder.path().join("ledger");
        let writing = self.writing(&primary, &replicas, &ledger)?;
        tell("writing");
        self.wait(BEFORE)?;
        self.wait(Duration::from_millis(Random::new(self.seed.child("instant")).uniform(0, 999)))?;
        let behind = self.behind(&primary, &replicas)?;
        tell(&format!("fault: {}", self.fault));
        let struck = writing.now();
        self.fault.strike(&mut primary, &mut replicas)?;
        self.detect(&primary)?;
        let detected = writing.now();
        tell("promoting a replica");
        let chosen = self.promote(&replicas)?;
        let promoted = writing.now();
        for (_, other) in replicas.iter().enumerate().filter(|(index, _)| *index != chosen) {
            other.sql("STOP SLAVE")?;
            other.follow(&replicas[chosen])?;
        }
        self.wait_for_success(&writing)?;
        self.wait(AFTER)?;
        writing.end()?;
        let ledger = Ledger::read(&ledger)?;
        let next = &replicas[chosen];
        let account = audit(&mut database(next)?, &ledger)?;
        tell("the old primary comes back");
        let (extra, does_not_follow) = self.come_back(&mut primary, next)?;
        let is_acknowledged =
            |write: &&Write| ledger.entries.get(write).is_some_and(|entry| entry.fate == Fate::Acknowledged);
        let extra_acknowledged = extra.iter().filter(is_acknowledged).count();
        let timeline = Timeline::of(&ledger, [struck, detected, promoted]);
        drop((primary, replicas, place));
        Ok(Report { timeline, behind, account, extra, extra_acknowledged, does_not_follow })
    }

    fn group(&self, tell: Tell<'_>) -> Result<(Node, Vec<Node>), HaulError> {
        let mut up = |name: &str, number: u32| {
            Node::up((self.home, name, self.server_binary.clone()), number, self.mode, self.stop, tell)
        };
        let primary = up(PRIMARY, 1)?;
        let replicas = (1..=self.replicas)
            .map(|number| up(&replica(number), number + 1))
            .collect::<Result<Vec<_>, _>>()?;
        primary.lead()?;
        accounts(&primary, DATABASE)?;
        replicas.iter().try_for_each(|replica| replica.follow(&primary))?;
        let at = primary.applied()?;
        replicas.iter().try_for_each(|replica| replica.wait_for(at))?;
        primary.wait_for_replicas(self.mode)?;
        Ok((primary, replicas))
    }

    fn writing(&self, primary: &Node, replicas: &[Node], ledger: &Path) -> Result<Writing, HaulError> {
        let nodes = std::iter::once(primary).chain(replicas);
        let plan = Plan {
            targets: nodes.map(|node| node.writers_target(DATABASE)).collect(),
            rate: self.rate,
            writers: WRITERS,
            seed: self.seed.child("writes"),
            patience: PATIENCE,
        };
        Writing::start(&plan, ledger, self.stop)
    }

    fn behind(&self, primary: &Node, replicas: &[Node]) -> Result<u64, HaulError> {
        let received = replicas.iter().map(Node::received).collect::<Result<Vec<_>, _>>()?;
        Ok(primary.applied()?.saturating_sub(received.into_iter().max().unwrap_or_default()))
    }

    /// Returns once the primary has not answered a few times in a row.
    fn detect(&self, primary: &Node) -> Result<(), HaulError> {
        let (target, mut failures) = (primary.writers_target(DATABASE), 0);
        let clock = Clock::start();
        while failures < FAILURES {
            let answer = Control::connect_within(&target, SILENCE).and_then(|mut control| control.ping());
            failures = if answer.is_err() { failures + 1 } else { 0 };
            if Duration::from(clock.now()) > RECOVERY {
                return Err(refused("the primary answers in spite of the fault", "please report it").into());
            }
            self.wait(LOOK_EVERY)?;
        }
        Ok(())
    }

    /// The replica that has received most makes all of it and takes writes.
    fn promote(&self, replicas: &[Node]) -> Result<usize, HaulError> {
        let received = replicas.iter().map(Node::received).collect::<Result<Vec<_>, _>>()?;
        let most = received.iter().enumerate().max_by_key(|(_, sequence)| **sequence);
        let chosen = most
            .map(|(index, _)| index)
            .ok_or_else(|| refused("there is no replica", "choose --replicas 1"))?;
        replicas[chosen].promote()?;
        Ok(chosen)
    }

    fn wait_for_success(&self, writing: &Writing) -> Result<(), HaulError> {
        let (clock, before) = (Clock::start(), writing.written().acknowledged);
        while writing.written().acknowledged == before {
            if Duration::from(clock.now()) > RECOVERY {
                return Err(refused(
                    "no write has succeeded for a minute after the promotion",
                    "see the servers' logs",
                )
                .into());
            }
            self.wait(Duration::from_millis(5))?;
        }
        Ok(())
    }

    /// Starts the old primary as a replica of the new one: what only it has, and why it does not follow.
    fn come_back(&self, old: &mut Node, new: &Node) -> Result<(Vec<Write>, Option<String>), HaulError> {
        self.fault.relent(old);
        old.start()?;
        let there = writes(&mut database(new)?)?;
        let extra = writes(&mut database(old)?)?.difference(&there).copied().collect();
        old.follow(new)?;
        let clock = Clock::start();
        let goal = new.applied()?;
        while Duration::from(clock.now()) < REJOIN {
            let shown = old.status()?;
            let of = |name: &str| {
                shown.rows.first()?.get(shown.column(name)?)?.clone().filter(|text| !text.is_empty())
            };
            if let Some(error) = of("Last_SQL_Error").or_else(|| of("Last_IO_Error")) {
                return Ok((extra, Some(error)));
            }
            if old.applied()? >= goal {
                return Ok((extra, None));
            }
            self.wait(Duration::from_millis(20))?;
        }
        Ok((extra, Some("it has not caught up within ten seconds".to_owned())))
    }

    fn wait(&self, time: Duration) -> Result<(), HaulError> {
        let clock = Clock::start();
        loop {
            if self.stop.is_set() {
                return Err(HaulError::Stopped { path: self.home.to_owned(), at: 0 });
            }
            let left = time.saturating_sub(clock.now().into());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(Duration::from_millis(20)));
        }
    }
}

fn replica(number: u32) -> String {
    format!("drill-replica-{number}")
}

fn database(node: &Node) -> Result<Control, HaulError> {
    let mut control = node.control()?;
    control.exec(&format!("USE {DATABASE}"))?;
    Ok(control)
}

fn writes(control: &mut Control) -> Result<BTreeSet<Write>, HaulError> {
    let mut found = BTreeSet::new();
    let number = |cell: &Option<Vec<u8>>| std::str::from_utf8(cell.as_deref()?).ok()?.parse::<u64>().ok();
    control.for_each_row(&format!("SELECT writer, number FROM {TABLE}"), &mut |row| {
        if let [Some(writer), Some(number)] = [number(&row[0]), number(&row[1])] {
            found.insert(Write { writer: writer as u32, number });
        }
        Ok(())
    })?;
    Ok(found)
}

/// The servers of a drill are removed when this is dropped; so is what a killed one has left.
struct Place<'a> {
    home: &'a Path,
    names: Vec<String>,
}

impl<'a> Place<'a> {
    fn new(home: &'a Path, replicas: u32) -> Result<Self, HaulError> {
        let names: Vec<String> =
            std::iter::once(PRIMARY.to_owned()).chain((1..=replicas).map(replica)).collect();
        let there: Vec<String> = sandbox::list(home)?.into_iter().map(|info| info.name).collect();
        let left: Vec<String> = names.iter().filter(|name| there.contains(name)).cloned().collect();
        if !left.is_empty() {
            sandbox::clean(home, &left)?;
        }
        Ok(Self { home, names })
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = sandbox::clean(self.home, std::slice::from_ref(name));
        }
    }
}
