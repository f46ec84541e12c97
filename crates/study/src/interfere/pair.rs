//! Two jobs side by side for a while, each in its domain, and what each came to.

use super::jobs::{CPU, Client, DISK, Job, Processes};
use super::setting::{DOMAINS, Setting};
use super::tables::{self, BLOCK_ROWS, Block, checksum};
use crate::harness::{Event, Notify, Order, Run};
use crate::published::{At, PrivateServer, PublishedError, Result, Watch, While};
use evenkeel_core::Nanos;
use evenkeel_core::caveat::{Caveat, Severity};
use evenkeel_core::random::Seed;
use evenkeel_os::Stop;
use evenkeel_os::clock::monotonic;
use evenkeel_os::cpu::Affinity;
use evenkeel_sense::cpu::CpuSet;
use evenkeel_sense::disk::{Device, DeviceIo, ProcessIo};
use evenkeel_sense::waits::ThreadWaits;
use evenkeel_sense::{CpuOf, CpuReading, CpuUse};
use evenkeel_site::sandbox::SandboxSpec;
use evenkeel_site::server::{Control, Target, TargetError};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{ScopedJoinHandle, sleep};
use std::time::Duration;

/// The buffer pool has this part of a domain's memory.
const POOL_PART: u64 = 2;

/// The server of a domain, with the tables of all jobs.
pub struct Side {
    name: &'static str,
    server: PrivateServer,
    target: Target,
    /// What jobs of the domain may run on.
    cpus: CpuSet,
    has_own_cpus: bool,
    /// A folder on the file system of its data.
    folder: PathBuf,
    /// The disk that holds its data; `None` where it is none.
    disk: Option<(u32, u32)>,
    /// Of the table that is only read.
    checksum: String,
}

impl Side {
    pub(super) fn up(at: &At<'_, Setting>, place: usize, tell: Notify<'_>) -> Result<Self> {
        let (name, stop) = (DOMAINS[place], at.workplace.stop);
        let domain = at.setting.domains[place].clone();
        let spec = SandboxSpec {
            name: format!("{}-{name}", at.plan.private_name()),
            home: at.workplace.home.to_owned(),
            settings: domain.memory.map(pool).into_iter().collect(),
            domain,
            ..SandboxSpec::default()
        };
        tell(Event::Step(format!("starting the server of domain {name}, with {} rows", at.setting.rows)));
        let server = PrivateServer::up(&at.workplace, &spec)?;
        let target = server.emptied("interfere", stop)?;
        let mut control = Control::connect_until(&target, stop)?;
        let checksum = tables::make(&mut control, at.setting.rows, Seed(at.plan.seed), &|| !stop.is_set())?;
        // A file disk has them behind a link.
        let data =
            server.sandbox.dir().join("data").canonicalize().doing(|| "looking for the data directory")?;
        let folder = data.parent().unwrap_or(&data).to_owned();
        let disk = Device::of_path(&folder).map(|device| device.whole());
        let (has_own_cpus, all) = (spec.domain.cpus.is_some(), CpuOf::Host.cpus().unwrap_or_default());
        let cpus = spec.domain.cpus.unwrap_or(all);
        Ok(Self { name, server, target, cpus, has_own_cpus, folder, disk, checksum })
    }

    fn control(&self, stop: &Stop) -> Result<Control> {
        Ok(Control::connect_until(&self.target, stop)?)
    }
}

fn pool(memory: u64) -> (String, String) {
    ("innodb_buffer_pool_size".to_owned(), (memory / POOL_PART).to_string())
}

/// Both jobs go on for so long before anything is counted.
pub const WARM_UP: Nanos = Nanos::from_millis(300);
/// A job that is slowed down this much is waited for until it has done something; longer than this many windows is nobody's patience.
const WINDOWS_MAX: f64 = 10.0;
/// Pieces between whose ends a rate is taken.
const PIECES_MIN: u64 = 3;
const NAP: Duration = Duration::from_millis(20);

/// What a client did.
#[derive(Default)]
struct Done {
    /// Between the ends of the first and the last counted piece.
    amount: u64,
    span: Nanos,
    acknowledged: u64,
    errors: u64,
    first_error: Option<String>,
}

/// When clients count, and when they stop.
struct Pace {
    from: Nanos,
    /// Clients that have done enough pieces.
    enough: AtomicUsize,
    over: AtomicBool,
}

type Jobs = [Option<&'static Job>; 2];
type Working<'scope> = ScopedJoinHandle<'scope, Result<Done, TargetError>>;

/// A run; `None` where somebody asked to stop.
pub fn side_by_side(
    at: &At<'_, Setting>,
    sides: &[Side; 2],
    jobs: Jobs,
    order: &Order<'_>,
) -> Result<Option<Run>> {
    let stop = at.workplace.stop;
    let (mut clients, mut processes) = ([None, None], [Processes::default(), Processes::default()]);
    let seed = Seed(at.plan.seed).child(&order.name());
    for (place, side) in sides.iter().enumerate() {
        let Some(job) = jobs[place] else { continue };
        ready(&mut side.control(stop)?, job)?;
        if job.is_client() {
            let (block, seed) = (Block::of(Seed(at.plan.seed)), seed.numbered(place as u64));
            clients[place] = Some(Client::connect(job, &side.target, block, at.setting.rows, seed, stop)?);
        }
        processes[place] = Processes::start(job, side.server.sandbox.cgroups(), &side.cpus, &side.folder)?;
    }
    let mut run = Run::default();
    let done = together(at, (sides, &processes), clients, &mut run)?;
    drop(processes);
    for (place, name) in DOMAINS.iter().enumerate() {
        let Some(job) = jobs[place] else { continue };
        if let Some(done) = &done[place] {
            note(&mut run, &sides[place], job, done, stop)?;
        }
        // A job of no server does as much as it got.
        match job.name {
            CPU => run.set(&format!("rate@{name}"), run.figure(&format!("cpus@{name}"))),
            DISK => run.set(&format!("rate@{name}"), run.figure(&format!("disk_mb_per_s@{name}"))),
            _ => {}
        }
    }
    Ok(Some(run).filter(|_| !stop.is_set()))
}

/// Has the clients work while all is watched; what each did.
fn together(
    at: &At<'_, Setting>,
    (sides, processes): (&[Side; 2], &[Processes; 2]),
    clients: [Option<Client>; 2],
    run: &mut Run,
) -> Result<Vec<Option<Done>>> {
    let window = |windows: f64| WARM_UP + Nanos::from_secs_f64(windows * at.setting.seconds);
    let began = monotonic();
    let pace = &Pace { from: began + WARM_UP, enough: AtomicUsize::new(0), over: AtomicBool::new(false) };
    let wanted = clients.iter().flatten().count();
    std::thread::scope(|scope| {
        let start = |(client, side): (Option<Client>, &Side)| {
            let affinity = side.has_own_cpus.then(|| Affinity::of(side.cpus.iter()));
            client.map(|client| scope.spawn(move || work(client, affinity.as_ref(), pace)))
        };
        let working: Vec<Option<Working<'_>>> = clients.into_iter().zip(sides).map(start).collect();
        let is_over =
            || at.workplace.stop.is_set() || working.iter().flatten().any(ScopedJoinHandle::is_finished);
        nap_until(pace.from, &is_over);
        let watched = watched(sides, processes, run, || {
            nap_until(began + window(1.0), &is_over);
            let have_done_enough = || pace.enough.load(Ordering::Relaxed) == wanted;
            nap_until(began + window(WINDOWS_MAX), &|| is_over() || have_done_enough());
        });
        pace.over.store(true, Ordering::Relaxed);
        let joined: Vec<_> = working.into_iter().map(|one| one.map(ScopedJoinHandle::join)).collect();
        watched?;
        if joined.iter().flatten().any(|one| matches!(one, Ok(Err(_)))) {
            // Where a server has ended, how it did says more than a connection that was lost.
            sides.iter().try_for_each(|side| side.server.pid().map(drop))?;
        }
        let ended = |one: Option<std::thread::Result<_>>| match one {
            Some(Ok(done)) => Ok(Some(done?)),
            Some(Err(_)) => Err(PublishedError::wrong("a job ended badly")),
            None => Ok(None),
        };
        joined.into_iter().map(ended).collect()
    })
}

/// Does pieces until it is over, on these CPUs. An error of a statement is counted; one of the connection ends it.
fn work(mut client: Client, affinity: Option<&Affinity>, pace: &Pace) -> Result<Done, TargetError> {
    // Where it is refused the scheduler decides, as without limits.
    let _ = affinity.map(Affinity::apply);
    let (mut done, mut first, mut pieces) = (Done::default(), None, 0);
    while !pace.over.load(Ordering::Relaxed) {
        let amount = match client.step() {
            Ok(amount) => amount,
            Err(error @ TargetError::Statement { .. }) => {
                done.errors += 1;
                done.first_error.get_or_insert(error.to_string());
                continue;
            }
            Err(error) => return Err(error),
        };
        let now = monotonic();
        if now < pace.from {
            continue;
        }
        match first {
            None => first = Some(now),
            Some(first) => {
                done.amount += amount;
                done.span = now - first;
            }
        }
        pieces += 1;
        if pieces == PIECES_MIN {
            pace.enough.fetch_add(1, Ordering::Relaxed);
        }
    }
    done.acknowledged = client.acknowledged;
    Ok(done)
}

fn nap_until(until: Nanos, is_over: &dyn Fn() -> bool) {
    while !is_over() {
        match until.0.checked_sub(monotonic().0) {
            None | Some(0) => return,
            Some(left) => sleep(NAP.min(Duration::from_nanos(left))),
        }
    }
}

/// What a job came to, and whether its table is whole.
fn note(run: &mut Run, side: &Side, job: &Job, done: &Done, stop: &Stop) -> Result<()> {
    let name = side.name;
    run.set(&format!("errors@{name}"), done.errors as f64);
    match done.span.as_secs_f64() {
        span_s if span_s > 0.0 => run.set(&format!("rate@{name}"), done.amount as f64 / span_s),
        _ => {
            let job = job.name;
            let text =
                format!("{name}'s {job} was so slow that it has no rate. Watch it longer by --seconds.");
            run.caveats.push(Caveat::new("stalled", Severity::Doubt, text));
        }
    }
    if stop.is_set() {
        return Ok(());
    }
    let found = faults(&mut side.control(stop)?, job, (done.acknowledged, done.errors), &side.checksum)?;
    run.set(&format!("faults@{name}"), found.len() as f64);
    let said: Vec<&String> = done.first_error.iter().chain(&found).collect();
    if let Some(first) = said.first() {
        run.notes.insert(format!("error@{name}"), (*first).clone());
    }
    Ok(())
}

/// What a domain had used until an instant: its server, and the processes of a job.
struct Reading {
    processes: Vec<(u32, Option<CpuReading>)>,
    waited: Option<Nanos>,
    io: Option<Vec<ProcessIo>>,
}

impl Reading {
    fn of(pids: &[u32]) -> Self {
        let read = |pid: &u32| (*pid, CpuOf::Process(*pid).read());
        let waited = pids.iter().filter_map(|pid| ThreadWaits::of_process(*pid));
        Self {
            processes: pids.iter().map(read).collect(),
            waited: waited.reduce(|sum, waited| sum + waited),
            io: pids.iter().map(|pid| ProcessIo::read(*pid)).collect(),
        }
    }
}

/// Reads what there is to see before and after something.
fn watched(
    sides: &[Side; 2],
    processes: &[Processes; 2],
    run: &mut Run,
    something: impl FnOnce(),
) -> Result<()> {
    let mut pids: Vec<Vec<u32>> = Vec::new();
    for (side, processes) in sides.iter().zip(processes) {
        pids.push([side.server.pid()?].into_iter().chain(processes.pids()).collect());
    }
    let read = || pids.iter().map(|pids| Reading::of(pids)).collect::<Vec<_>>();
    let disk = || sides[0].disk.and_then(DeviceIo::read);
    let watch = Watch::begin(pids.iter().flatten().copied());
    let (began, before, disk_before) = (monotonic(), read(), disk());
    something();
    let (after, disk_after, over) = (read(), disk(), monotonic() - began);
    watch.end().note(run);
    let over_s = over.as_secs_f64();
    for ((side, before), after) in sides.iter().zip(&before).zip(&after) {
        let mut set = |figure: &str, value: Option<f64>| run.set(&format!("{figure}@{}", side.name), value);
        let busy = before.processes.iter().zip(&after.processes).map(|((_, before), (_, after))| {
            Some(CpuUse::between(before.as_ref()?, after.as_ref()?, over)?.busy.as_secs_f64())
        });
        set("cpus", busy.sum::<Option<f64>>().map(|busy_s| busy_s / over_s));
        let waited =
            before.waited.zip(after.waited).and_then(|(before, after)| after.0.checked_sub(before.0));
        set("waiting", waited.map(|waited| Nanos(waited).as_secs_f64() / over_s));
        let io = before.io.as_ref().zip(after.io.as_ref()).and_then(|(before, after)| {
            let bytes = |(before, after): (&ProcessIo, &ProcessIo)| {
                after.since(before).map(|io| io.read_bytes + io.write_bytes)
            };
            before.iter().zip(after).map(bytes).sum::<Option<u64>>()
        });
        set("disk_mb_per_s", io.map(|bytes| bytes as f64 / 1e6 / over_s));
    }
    if let Some(io) = disk_before.zip(disk_after).and_then(|(before, after)| after.since(&before)) {
        let count = (io.reads + io.writes) as f64;
        run.set("disk_ms", (io.read_time + io.write_time).as_secs_f64() * 1e3 / count);
        run.set("disk_percent", 100.0 * io.busy.as_secs_f64() / over_s);
    }
    Ok(())
}

/// Takes away what the job of an earlier run left.
fn ready(control: &mut Control, job: &Job) -> Result<()> {
    if job.is_client() && !job.only_reads() {
        control.exec(&format!("TRUNCATE TABLE {}", job.table))?;
    }
    Ok(())
}

/// What is wrong with the table of a job after it: `acknowledged` rows were committed, and those of `errors` statements may be.
fn faults(
    control: &mut Control,
    job: &Job,
    (acknowledged, errors): (u64, u64),
    before: &str,
) -> Result<Vec<String>> {
    let (table, mut found) = (job.table, Vec::new());
    let checked = control.query(&format!("CHECK TABLE {table}"))?;
    let last = checked.rows.last().and_then(|row| row.last().cloned().flatten()).unwrap_or_default();
    if last != "OK" {
        found.push(format!("CHECK TABLE {table}: {last}"));
    }
    if job.only_reads() {
        if checksum(control)? != before {
            found.push(format!("the checksum of {table} changed, which nobody wrote to"));
        }
        return Ok(found);
    }
    let rows = control.query_value(&format!("SELECT COUNT(*) FROM {table}"))?;
    let rows: u64 = rows.and_then(|rows| rows.parse().ok()).unwrap_or_default();
    let most = acknowledged + errors * BLOCK_ROWS;
    if !(acknowledged..=most).contains(&rows) {
        found.push(format!("{table} has {rows} rows, and {acknowledged} were committed"));
    }
    Ok(found)
}
