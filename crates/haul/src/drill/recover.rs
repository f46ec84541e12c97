//! A recovery from the first row to the last comparison: load, backup, changes, kill, restore, logs, verdict.

use super::changes::{Changes, fill};
use super::manifest::Manifest;
use super::method::{self, Method, Source};
use super::original::Copied;
use super::program::wait;
use super::range::Until;
use super::restored::{Restore, Servers, Steps, Tell, Timed, isolated, quiet};
use super::rows::{damaged, differences, sums};
use super::snapshot::SnapshotCommands;
use crate::HaulError;
use crate::ledger::{Account, Ledger, Plan, Writing, audit};
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use evenkeel_os::process::signal;
use evenkeel_site::sandbox::{Data, FileDisk, FileSystem, Sandbox, SandboxSpec};
use evenkeel_site::server::{Control, Target};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

const SOURCE: &str = "drill-source";
const RESTORED: &str = "drill-restored";
const DATABASE: &str = "evenkeel_drill";
const SIGKILL: i32 = 9;
/// Load before the first backup, between two, and after the last.
const BETWEEN: Duration = Duration::from_secs(2);
/// What the volume of a snapshot has besides the data: system tables, logs, and what the changes add.
const VOLUME: u64 = 2 << 30;

/// A rehearsal on private servers.
pub struct Recover<'a> {
    pub home: &'a Path,
    pub server_binary: Option<PathBuf>,
    pub method: Method,
    /// How snapshots are made; `None` by reflinks.
    pub snapshot: Option<SnapshotCommands>,
    /// A server whose data the private one begins with: it is only read.
    pub of: Option<Target>,
    pub incrementals: u32,
    /// Writes per second of the ledger.
    pub rate: f64,
    /// Bytes of data before the load begins.
    pub bytes: u64,
    pub seed: Seed,
    pub stop: &'a Stop,
}

/// A backup that was taken under load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BackupReport {
    pub bytes: u64,
    pub took_s: f64,
    /// How long all writes were held back for it; `None` where the program does not say.
    pub lock_s: Option<f64>,
    /// Longest time without an acknowledged write that has a part in it.
    pub pause_s: f64,
}

/// Mean response time of the writes that arrived in a range of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Responses {
    pub before_ms: Option<f64>,
    pub during_ms: Option<f64>,
    pub after_ms: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    pub server: String,
    /// The full backup, then the incrementals.
    pub backups: Vec<BackupReport>,
    pub responses: Responses,
    /// Of the recovery, in their order.
    pub steps: Vec<Timed>,
    /// From the kill until all that is recovered can be read.
    pub recovery_s: f64,
    /// Transactions of the binary logs that were applied.
    pub transactions: u64,
    /// From the last write that is there to the kill; 0 where none is lost.
    pub recovery_point_s: f64,
    pub account: Account,
    /// Tables of users that were compared, and their databases.
    pub tables: usize,
    pub databases: usize,
    /// Tables that are not as at the source, a line for each.
    pub differences: Vec<String>,
    /// Tables that CHECK TABLE calls damaged.
    pub damaged: Vec<String>,
}

impl Report {
    /// Whether all is there, as it was.
    pub fn is_right(&self) -> bool {
        self.account.is_right() && self.differences.is_empty() && self.damaged.is_empty()
    }
}

impl Recover<'_> {
    /// Does it, and removes all servers and files of it.
    /// Errors: a step that cannot be done, with what it said; or somebody asked to stop.
    pub fn run(&self, tell: Tell<'_>) -> Result<Report, HaulError> {
        let servers = Servers::new(self.home, [SOURCE, RESTORED])?;
        tell("starting a server");
        let mut source = self.source(tell)?;
        let work = source.dir().join("drill");
        let target = Target { database: Some(DATABASE.into()), ..source.target() };
        let mut scene = Scene { drill: self, work, target, backups: Vec::new() };
        let (taken, killed) = scene.up_to_the_kill(&source, tell)?;
        let found = scene.after_the_kill(&mut source, &taken, killed, tell)?;
        drop(source);
        drop(servers);
        Ok(found)
    }

    /// A server with binary logs in a folder of their own.
    fn source(&self, tell: Tell<'_>) -> Result<Sandbox, HaulError> {
        let place = (self.home, self.method);
        let copied = |target| Copied::of(target, place, self.snapshot.as_ref(), self.stop, &mut *tell);
        let original = self.of.as_ref().map(copied).transpose()?;
        let bytes = original.as_ref().map_or(self.bytes, |original| original.bytes);
        let server_binary = self.server_binary.clone();
        let mut spec =
            SandboxSpec { server_binary, settings: isolated(), ..SandboxSpec::new(self.home, SOURCE) };
        if self.method == Method::Snapshot {
            let bytes = (VOLUME + 4 * bytes).next_multiple_of(1 << 20);
            spec.domain.file_disk = Some(FileDisk { bytes, file_system: FileSystem::Xfs });
        }
        if let Some(original) = original.as_ref().filter(|original| original.data().exists()) {
            spec.data = Data::Moved(original.data());
        }
        let mut source = Sandbox::up(&spec, self.stop, &mut quiet(tell))?;
        if let Some(original) = &original {
            original.taken.load(&source.target(), self.stop)?;
        }
        let logs = source.dir().join("drill/logs");
        fs::create_dir_all(&logs).map_err(HaulError::io("create", &logs))?;
        let settings = [
            ("log_bin", logs.join("bin").display().to_string()),
            ("server_id", "1".into()),
            ("binlog_format", "ROW".into()),
            ("sync_binlog", "1".into()),
            ("innodb_flush_log_at_trx_commit", "1".into()),
        ];
        let mut settings: BTreeMap<String, String> =
            settings.map(|(name, value)| (name.to_owned(), value)).into();
        settings.extend(original.into_iter().flat_map(|original| original.durability));
        source.restart(&settings, self.stop, &mut quiet(tell))?;
        Ok(source)
    }
}

struct Scene<'a> {
    drill: &'a Recover<'a>,
    work: PathBuf,
    target: Target,
    /// Each with the time that it took, on the clock of the ledger.
    backups: Vec<(Range<Nanos>, Manifest)>,
}

/// The moment of the kill, on two clocks.
struct Killed {
    clock: Clock,
    at: Nanos,
    writing: Writing,
}

impl Scene<'_> {
    fn ledger(&self) -> PathBuf {
        self.work.join("ledger")
    }

    fn up_to_the_kill(
        &mut self,
        source: &Sandbox,
        tell: Tell<'_>,
    ) -> Result<(method::Taken, Killed), HaulError> {
        let drill = self.drill;
        tell("filling it");
        let mut control = Control::connect_until(&source.target(), drill.stop)?;
        control.exec(&format!("CREATE DATABASE {DATABASE}"))?;
        let mut control = Control::connect_until(&self.target, drill.stop)?;
        fill(&mut control, if drill.of.is_some() { 0 } else { drill.bytes })?;
        let plan = Plan {
            targets: vec![self.target.clone()],
            rate: drill.rate,
            seed: drill.seed.child("writes"),
            ..Plan::default()
        };
        let writing = Writing::start(&plan, &self.ledger(), drill.stop)?;
        let changes =
            Changes::start(&self.target, drill.seed.child("changes"), drill.method != Method::Dump)?;
        let from = Source {
            folder: self.work.join("backups"),
            data: source.dir().join("data").canonicalize().map_err(HaulError::io("read", source.dir()))?,
            target: source.target(),
            snapshot: drill.snapshot.as_ref(),
            process: Some(source.pid()),
            stop: drill.stop,
        };
        wait(BETWEEN, drill.stop)?;
        tell(&format!("{} under load", drill.method));
        let mut taken = self.timed(&writing, || method::Taken::first(drill.method, &from))?;
        for number in 1..=drill.incrementals {
            wait(BETWEEN, drill.stop)?;
            tell(&format!("incremental {number} under load"));
            self.timed(&writing, || Ok(((), taken.next(drill.stop)?)))?;
        }
        wait(BETWEEN, drill.stop)?;
        tell("kill -9");
        signal(source.pid(), SIGKILL);
        let killed = Killed { clock: Clock::start(), at: writing.now(), writing };
        killed.writing.halt();
        drop(changes);
        Ok((taken, killed))
    }

    fn timed<T>(
        &mut self,
        writing: &Writing,
        take: impl FnOnce() -> Result<(T, Manifest), HaulError>,
    ) -> Result<T, HaulError> {
        let begun = writing.now();
        let (taken, manifest) = take()?;
        self.backups.push((begun..writing.now(), manifest));
        Ok(taken)
    }

    fn after_the_kill(
        &mut self,
        source: &mut Sandbox,
        taken: &method::Taken,
        killed: Killed,
        tell: Tell<'_>,
    ) -> Result<Report, HaulError> {
        let drill = self.drill;
        let mut steps = Steps::from(killed.clock);
        let restore = Restore {
            spec: SandboxSpec {
                server_binary: drill.server_binary.clone(),
                ..SandboxSpec::new(drill.home, RESTORED)
            },
            work: &self.work,
            logs: Some(&self.work.join("logs")),
            until: &Until::End,
            stop: drill.stop,
        };
        let (restored, range) = restore.run(taken, &mut steps, tell)?;
        let recovery_s = steps.clock.now().as_secs_f64();
        killed.writing.end()?;
        tell("comparing it with the source, which recovers from the kill");
        source.restart(&BTreeMap::new(), drill.stop, &mut quiet(tell))?;
        let ledger = Ledger::read(&self.ledger())?;
        let target = Target { database: Some(DATABASE.into()), ..restored.target() };
        let account = audit(&mut Control::connect_until(&target, drill.stop)?, &ledger)?;
        let there = sums(&restored.target(), drill.stop)?;
        let at_source = sums(&source.target(), drill.stop)?;
        let differences = differences(&at_source, &there);
        let databases: BTreeSet<&str> = at_source.keys().filter_map(|name| name.split('.').next()).collect();
        let damaged = damaged(&restored.target(), drill.stop)?;
        Ok(Report {
            server: Control::connect_until(&target, drill.stop)?.version().to_string(),
            backups: self.backups.iter().map(|(span, manifest)| report(span, manifest, &ledger)).collect(),
            responses: self.responses(&ledger),
            steps: steps.done,
            recovery_s,
            transactions: range.map_or(0, |range| range.transactions),
            recovery_point_s: account.first_lost_s.map_or(0.0, |at| killed.at.as_secs_f64() - at),
            account,
            tables: at_source.len(),
            databases: databases.len(),
            differences,
            damaged,
        })
    }

    fn responses(&self, ledger: &Ledger) -> Responses {
        let (Some((first, _)), Some((last, _))) = (self.backups.first(), self.backups.last()) else {
            return Responses::default();
        };
        let during = |at: Nanos| self.backups.iter().any(|(span, _)| span.contains(&at));
        Responses {
            before_ms: mean_ms(ledger, &|at| at < first.start),
            during_ms: mean_ms(ledger, &during),
            after_ms: mean_ms(ledger, &|at| at >= last.end),
        }
    }
}

/// Mean response time of what arrived at such instants and was acknowledged.
fn mean_ms(ledger: &Ledger, counts: &dyn Fn(Nanos) -> bool) -> Option<f64> {
    let acknowledged = ledger.acknowledged().filter(|(arrival, _)| counts(*arrival));
    let (sum, number) = acknowledged.fold((0.0, 0_u32), |(sum, number), (arrival, ended)| {
        (sum + (ended - arrival).as_millis_f64(), number + 1)
    });
    (number > 0).then(|| sum / f64::from(number))
}

fn report(span: &Range<Nanos>, manifest: &Manifest, ledger: &Ledger) -> BackupReport {
    let pause = ledger.longest_gap(span.clone());
    BackupReport {
        bytes: manifest.bytes(),
        took_s: (span.end - span.start).as_secs_f64(),
        lock_s: manifest.lock_s,
        pause_s: pause.map_or(0.0, |(from, to)| (to - from).as_secs_f64()),
    }
}
