//! Jobs side by side for a while, each in its domain, and what each came to.

use super::jobs::{Job, Worker};
use super::process::Processes;
use super::setting::Setting;
use super::side::Side;
use super::tables::{BLOCK_ROWS, checksum};
use super::watch::{rate, watched};
use crate::harness::{Order, Run};
use crate::published::{At, PublishedError, Result};
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_os::Stop;
use evenkeel_os::clock::monotonic;
use evenkeel_os::cpu::Affinity;
use evenkeel_site::server::{Control, TargetError};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{ScopedJoinHandle, sleep};
use std::time::Duration;

/// All jobs go on for so long before anything is counted.
pub const WARM_UP: Nanos = Nanos::from_millis(300);
/// A job that is slowed down this much is waited for until it has done something; longer than this many windows is nobody's patience.
const WINDOWS_MAX: f64 = 10.0;
/// Pieces between whose ends a rate is taken.
const PIECES_MIN: u64 = 3;
const NAP: Duration = Duration::from_millis(20);
/// Naps until a server that ends has ended.
const ENDS_WITHIN: u32 = 50;

/// What a client did.
#[derive(Default)]
struct Done {
    /// Between the ends of the first and the last counted piece.
    amount: u64,
    span: Nanos,
    /// All of it: rows that were committed, as the server said.
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

type Working<'scope> = ScopedJoinHandle<'scope, Result<Done>>;

/// A run; `None` where somebody asked to stop. Where a server has ended, how it did says more than a connection that was lost.
pub fn side_by_side(
    at: &At<'_, Setting>,
    sides: &[Side],
    jobs: &[Option<&'static Job>],
    order: &Order<'_>,
) -> Result<Option<Run>> {
    let outcome = run_of(at, sides, jobs, order);
    // A connection goes a moment before its process.
    for _ in 0..if outcome.is_err() { ENDS_WITHIN } else { 0 } {
        sides.iter().try_for_each(|side| side.pid().map(drop))?;
        sleep(NAP);
    }
    outcome
}

fn run_of(
    at: &At<'_, Setting>,
    sides: &[Side],
    jobs: &[Option<&'static Job>],
    order: &Order<'_>,
) -> Result<Option<Run>> {
    let stop = at.workplace.stop;
    let (mut workers, mut processes) = (Vec::new(), Vec::new());
    let seed = Seed(at.plan.seed).child(&order.name());
    for (place, (side, job)) in sides.iter().zip(jobs).enumerate() {
        let Some(job) = job else {
            workers.push(None);
            processes.push(Processes::default());
            continue;
        };
        ready(&mut side.control(stop)?, job)?;
        workers.push(side.worker(job, at, seed.numbered(place as u64))?);
        processes.push(Processes::start(job, &side.place)?);
    }
    let mut run = Run::default();
    let done = together(at, (sides, &processes), workers, &mut run)?;
    drop(processes);
    for ((side, job), done) in sides.iter().zip(jobs).zip(&done) {
        let Some(job) = job else { continue };
        match done {
            Some(done) => note(&mut run, side, job, done, stop)?,
            None => run.set(&format!("rate@{}", side.name), rate(&run, job, side)),
        }
    }
    Ok(Some(run).filter(|_| !stop.is_set()))
}

/// Has the workers work while all is watched; what each did.
fn together(
    at: &At<'_, Setting>,
    (sides, processes): (&[Side], &[Processes]),
    workers: Vec<Option<Worker>>,
    run: &mut Run,
) -> Result<Vec<Option<Done>>> {
    let window = |windows: f64| WARM_UP + Nanos::from_secs_f64(windows * at.setting.seconds);
    let began = monotonic();
    let pace = &Pace { from: began + WARM_UP, enough: AtomicUsize::new(0), over: AtomicBool::new(false) };
    let wanted = workers.iter().flatten().count();
    std::thread::scope(|scope| {
        let start = |(worker, side): (Option<Worker>, &Side)| {
            let affinity = side.place.cpus.as_ref().map(|cpus| Affinity::of(cpus.iter()));
            worker.map(|worker| scope.spawn(move || work(worker, affinity.as_ref(), pace)))
        };
        let working: Vec<Option<Working<'_>>> = workers.into_iter().zip(sides).map(start).collect();
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
        let ended = |one: Option<std::thread::Result<Result<Done>>>| match one {
            Some(Ok(done)) => done.map(Some),
            Some(Err(_)) => Err(PublishedError::wrong("a job ended badly")),
            None => Ok(None),
        };
        joined.into_iter().map(ended).collect()
    })
}

/// Does pieces until it is over, on these CPUs. An error of a statement is counted; one of the connection ends it.
fn work(mut worker: Worker, affinity: Option<&Affinity>, pace: &Pace) -> Result<Done> {
    // Where it is refused the scheduler decides, as without limits.
    let _ = affinity.map(Affinity::apply);
    let (mut done, mut first, mut pieces) = (Done::default(), None, 0);
    while !pace.over.load(Ordering::Relaxed) {
        let amount = match worker() {
            Ok(amount) => amount,
            Err(PublishedError::Target(error @ TargetError::Statement { .. })) => {
                done.errors += 1;
                done.first_error.get_or_insert(error.to_string());
                // A server on which every statement fails is not asked at full speed.
                sleep(NAP);
                continue;
            }
            Err(error) => return Err(error),
        };
        done.acknowledged += amount;
        let now = monotonic();
        // Once it is over neighbours have stopped, and what ends then was not beside them all the time.
        if now < pace.from || pace.over.load(Ordering::Relaxed) {
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
    let name = &side.name;
    run.set(&format!("errors@{name}"), done.errors as f64);
    // 0 of a job that did not finish two pieces.
    let span_s = done.span.as_secs_f64();
    run.set(&format!("rate@{name}"), if span_s > 0.0 { done.amount as f64 / span_s } else { 0.0 });
    if stop.is_set() || !job.is_client() {
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
