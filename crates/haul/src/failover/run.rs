//! A failover from the first write to the old primary's return.

use super::fault::Fault;
use super::group::{HEARTBEAT, Mode, Node, accounts};
use super::reach::{Reach, Way};
use super::timeline::{Instants, Timeline, pace};
use crate::drill::{Login, PATIENCE, Servers, Tell, shell, wait};
use crate::ledger::{Account, Fate, Ledger, Plan, TABLE, Write, Writing, audit};
use crate::{HaulError, refused};
use evenkeel_core::random::{Random, Seed};
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use evenkeel_site::sandbox::free_port;
use evenkeel_site::server::{Control, Target};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

const DATABASE: &str = "evenkeel_drill";
const PRIMARY: &str = "drill-primary";
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
/// The old primary follows the new one within this time, or cannot.
const REJOIN: Duration = Duration::from_secs(10);

/// A failover on private servers.
pub struct Failover<'a> {
    pub home: &'a Path,
    pub server_binary: Option<PathBuf>,
    pub replicas: u32,
    pub mode: Mode,
    pub fault: Fault,
    pub reach: Reach,
    /// A command that promotes a replica, in the place of our way.
    pub promote: Option<String>,
    /// A command that looks at the servers before they are removed.
    pub then: Option<String>,
    /// Writes per second.
    pub rate: f64,
    pub seed: Seed,
    pub stop: &'a Stop,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    pub timeline: Timeline,
    /// Acknowledged writes per second in each tenth of a second: its middle, in seconds after the fault, and the rate.
    pub pace: Vec<(f64, f64)>,
    /// What became of the writes, on the new primary.
    pub account: Account,
    /// From the first acknowledged write that is lost to the fault; 0 where none is lost.
    pub recovery_point_s: f64,
    /// Acknowledged writes that their writer, when it reconnected, did not find.
    pub stale: u64,
    /// Where the drill made the failover itself.
    #[serde(flatten)]
    pub made: Option<Made>,
}

/// What only who makes a failover knows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Made {
    /// Transactions that the replica which was promoted had not received when the fault came.
    pub behind: u64,
    /// Writes that only the old primary has.
    pub extra: Vec<Write>,
    /// Of these, those that it had acknowledged.
    pub extra_acknowledged: usize,
    /// Why the old primary does not follow the new one; `None` where it does.
    pub does_not_follow: Option<String>,
}

impl Report {
    pub(super) fn of(
        ledger: &Ledger,
        instants: Instants,
        account: Account,
        stale: u64,
        made: Option<Made>,
    ) -> Self {
        let fault_s = instants.0.as_secs_f64();
        Self {
            timeline: Timeline::of(ledger, instants),
            pace: pace(ledger, instants.0),
            recovery_point_s: account.first_lost_s.map_or(0.0, |at| (fault_s - at).max(0.0)),
            account,
            stale,
            made,
        }
    }
}

impl Failover<'_> {
    /// Makes it, and removes all servers of it.
    /// Errors: a step that cannot be done, with what it said; or somebody asked to stop.
    pub fn run(&self, tell: Tell<'_>) -> Result<Report, HaulError> {
        let names = (1..=self.replicas).map(replica).chain([PRIMARY.to_owned()]);
        let servers = Servers::new(self.home, names)?;
        tell(&format!("starting a primary and {} replica(s)", self.replicas));
        let (mut primary, replicas) = self.group(tell)?;
        let folder = primary.folder()?;
        let ledger = folder.join("ledger");
        let nodes: Vec<&Node> = std::iter::once(&primary).chain(&replicas).collect();
        let way = Way::open(self.reach, &nodes, &folder)?;
        let writing = self.writing(way.targets(&nodes, DATABASE), &ledger)?;
        tell("writing");
        wait(BEFORE, self.stop)?;
        wait(Duration::from_millis(Random::new(self.seed.child("instant")).uniform(0, 999)), self.stop)?;
        tell(&format!("fault: {}", self.fault));
        self.fault.prepare(&replicas)?;
        let behind = self.behind(&primary, &replicas)?;
        let struck = writing.now();
        self.fault.inject(&mut primary)?;
        self.detect(&primary)?;
        let detected = writing.now();
        tell("promoting a replica");
        let chosen = self.promote(&replicas, &folder)?;
        let promoted = writing.now();
        way.lead(&primary, &replicas[chosen])?;
        for (_, other) in replicas.iter().enumerate().filter(|(index, _)| *index != chosen) {
            other.sql("STOP SLAVE")?;
            other.follow(&replicas[chosen])?;
        }
        self.wait_for_success(&writing)?;
        wait(AFTER, self.stop)?;
        let stale = writing.end()?.stale;
        let (file, ledger) = (ledger.clone(), Ledger::read(&ledger)?);
        let next = &replicas[chosen];
        let account = audit(&mut database(next)?, &ledger)?;
        tell("the old primary comes back");
        let (extra, does_not_follow) = self.come_back(&mut primary, next)?;
        let is_acknowledged =
            |write: &&Write| ledger.entries.get(write).is_some_and(|entry| entry.fate == Fate::Acknowledged);
        let extra_acknowledged = extra.iter().filter(is_acknowledged).count();
        if let Some(command) = &self.then {
            let (new, old) = (next.login(&folder)?, primary.login(&folder)?);
            let log = folder.join("then.log");
            shell(command, &[new.path(), old.path(), &file], (&log, PATIENCE), self.stop)?;
        }
        let made = Made { behind, extra, extra_acknowledged, does_not_follow };
        drop((way, primary, replicas, servers));
        Ok(Report::of(&ledger, (struck, Some(detected), Some(promoted)), account, stale, Some(made)))
    }

    fn group(&self, tell: Tell<'_>) -> Result<(Node, Vec<Node>), HaulError> {
        let mut domain = self.fault.domain();
        let mut port = None;
        if self.reach == Reach::Address {
            domain.net.get_or_insert_default();
            port = Some(free_port()?);
        }
        let mut up = |name: &str, number: u32| {
            Node::up(
                (self.home, name, self.server_binary.clone()),
                (number, port),
                (self.mode, domain.clone()),
                self.stop,
                tell,
            )
        };
        let primary = up(PRIMARY, 1)?;
        let mut replicas = (1..=self.replicas)
            .map(|number| up(&replica(number), number + 1))
            .collect::<Result<Vec<_>, _>>()?;
        replicas.iter_mut().for_each(|replica| replica.password.clone_from(&primary.password));
        primary.sql("SET GLOBAL read_only = OFF")?;
        accounts(&primary, DATABASE)?;
        replicas.iter().try_for_each(|replica| replica.follow(&primary))?;
        let at = primary.applied()?;
        replicas.iter().try_for_each(|replica| replica.wait_for(at))?;
        // From now on, where there are some to wait for.
        if self.mode != Mode::Asynchronous {
            primary.sql("SET GLOBAL rpl_semi_sync_master_enabled = ON")?;
        }
        Ok((primary, replicas))
    }

    fn writing(&self, targets: Vec<Target>, ledger: &Path) -> Result<Writing, HaulError> {
        let plan = Plan { targets, rate: self.rate, seed: self.seed.child("writes"), ..Plan::default() };
        Writing::start(&plan, ledger, self.stop)
    }

    fn behind(&self, primary: &Node, replicas: &[Node]) -> Result<u64, HaulError> {
        let received = replicas.iter().map(Node::received).collect::<Result<Vec<_>, _>>()?;
        Ok(primary.applied()?.saturating_sub(received.into_iter().max().unwrap_or_default()))
    }

    /// Returns once the primary has not taken a write a few times in a row.
    fn detect(&self, primary: &Node) -> Result<(), HaulError> {
        let (target, mut failures) = (primary.writers_target(DATABASE), 0);
        let clock = Clock::start();
        while failures < FAILURES {
            let beat = format!("UPDATE {HEARTBEAT} SET beat = beat + 1");
            let answer =
                Control::connect_within(&target, SILENCE).and_then(|mut control| control.exec(&beat));
            failures = if answer.is_err() { failures + 1 } else { 0 };
            if Duration::from(clock.now()) > RECOVERY {
                return Err(
                    refused("the primary still accepts writes after the fault", "please report it").into()
                );
            }
            wait(LOOK_EVERY, self.stop)?;
        }
        Ok(())
    }

    /// Has a replica take writes: the one that has received most, or the one that the user's command chooses.
    fn promote(&self, replicas: &[Node], folder: &Path) -> Result<usize, HaulError> {
        if let Some(command) = &self.promote {
            return self.promote_by(command, replicas, folder);
        }
        let received = replicas.iter().map(Node::received).collect::<Result<Vec<_>, _>>()?;
        let most = received.iter().enumerate().max_by_key(|(_, sequence)| **sequence);
        let chosen = most
            .map(|(index, _)| index)
            .ok_or_else(|| refused("there is no replica", "choose --replicas 1"))?;
        replicas[chosen].promote()?;
        Ok(chosen)
    }

    /// The command gets option files of the replicas as its arguments.
    fn promote_by(&self, command: &str, replicas: &[Node], folder: &Path) -> Result<usize, HaulError> {
        let logins = replicas.iter().map(|replica| replica.login(folder)).collect::<Result<Vec<_>, _>>()?;
        let files: Vec<&Path> = logins.iter().map(Login::path).collect();
        shell(command, &files, (&folder.join("promote.log"), RECOVERY), self.stop)?;
        for (index, replica) in replicas.iter().enumerate() {
            if replica.takes_writes()? {
                return Ok(index);
            }
        }
        Err(refused(
            "no replica is writable after the --promote command",
            "the command must run SET GLOBAL read_only = OFF",
        )
        .into())
    }

    fn wait_for_success(&self, writing: &Writing) -> Result<(), HaulError> {
        let (clock, before) = (Clock::start(), writing.written().acknowledged);
        while writing.written().acknowledged == before {
            if Duration::from(clock.now()) > RECOVERY {
                let what = "no write has succeeded for a minute after the promotion";
                return Err(refused(what, "choose a lower --rate").into());
            }
            wait(Duration::from_millis(5), self.stop)?;
        }
        Ok(())
    }

    /// Starts the old primary as a replica of the new one: what only it has, and why it does not follow.
    fn come_back(&self, old: &mut Node, new: &Node) -> Result<(Vec<Write>, Option<String>), HaulError> {
        self.fault.undo(old)?;
        old.start()?;
        let there = writes(&mut database(new)?)?;
        let extra = writes(&mut database(old)?)?.difference(&there).copied().collect();
        old.follow(new)?;
        let clock = Clock::start();
        let goal = new.applied()?;
        while Duration::from(clock.now()) < REJOIN {
            let shown = old.status()?;
            let of = |name: &str| shown.named(name).filter(|text| !text.is_empty()).map(str::to_owned);
            if let Some(error) = of("Last_SQL_Error").or_else(|| of("Last_IO_Error")) {
                return Ok((extra, Some(error)));
            }
            if old.applied()? >= goal {
                return Ok((extra, None));
            }
            wait(Duration::from_millis(20), self.stop)?;
        }
        Ok((extra, Some("it has not caught up within ten seconds".to_owned())))
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
