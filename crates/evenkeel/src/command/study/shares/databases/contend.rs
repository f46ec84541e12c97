//! Both stores ordered from at the same time, and what came of it.

use super::pair::Pair;
use super::watch::Watch;
use crate::clock::Clock;
use crate::command::{Session, load as command, place};
use crate::databases::NAMES;
use crate::databases::record::{Figures, Key, Run, Setting};
use anyhow::{Result, anyhow};
use evenkeel_core::Nanos;
use evenkeel_core::caveat::Caveat;
use evenkeel_core::random::Seed;
use evenkeel_lab::data::dvdstore;
use evenkeel_lab::load::{
    self, ArrivalPlan, LoadError, LoadPhase, LoadPlan, LoadResult, Protocol, SessionPolicy,
};
use evenkeel_lab::stop::Stop;
use evenkeel_lab::study::{orders_per_minute, times};
use evenkeel_lab::workload::plan_think;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

/// An order that takes longer is given up.
const TIMEOUT: Nanos = Nanos::from_secs(60);
/// After the measured time, what is under way is awaited for this long at most; it counts with the age it reached.
const DRAIN: Nanos = Nanos::from_secs(20);
/// How often hosts are asked in a period.
const LOOKS: f64 = 2.0;
/// Longest nap, so that Ctrl-C is seen.
const NAP: Duration = Duration::from_millis(100);

/// Orders from both for the time of the setting; `None` where somebody asked to stop.
///
/// # Errors
/// A load does not begin, a host or a server ends.
pub fn contend(session: &Session, pair: &Pair, setting: &Setting, key: Key) -> Result<Option<Run>> {
    let plans: Vec<LoadPlan> =
        (0..NAMES.len()).map(|host| plan(pair, setting, host, key.round)).collect::<Result<_>>()?;
    // Ends both loads, for Ctrl-C as well as where one of them or a host fails.
    let (stop, begun) = (Stop::default(), AtomicUsize::new(0));
    let (watched, results) = std::thread::scope(|scope| {
        let loads: Vec<_> = plans.iter().map(|plan| start(scope, plan, &stop, &begun)).collect();
        let watched = watch(session, pair, setting, &loads, &begun);
        if session.stop.is_set() || watched.is_err() {
            stop.set();
        }
        let results: Vec<_> = loads.into_iter().map(ScopedJoinHandle::join).collect();
        (watched, results)
    });
    if session.stop.is_set() {
        return Ok(None);
    }
    let watch = watched?;
    let mut loaded = Vec::new();
    for result in results {
        loaded.push(result.map_err(|_| anyhow!("a load ended badly"))??);
    }
    Ok(Some(outcome(setting, key, watch, &plans, &loaded)))
}

fn plan(pair: &Pair, setting: &Setting, host: usize, round: u32) -> Result<LoadPlan> {
    let target = pair.store(host);
    let workload = place::workload(dvdstore::NAME, place::database(&target, dvdstore::NAME)?)?;
    Ok(LoadPlan {
        target,
        workload: plan_think(workload),
        arrivals: ArrivalPlan::Closed { clients: setting.clients, think: Nanos::ZERO },
        warm_up: Nanos::from_secs_f64(setting.warm_up_s),
        measure: Nanos::from_secs_f64(setting.duration_s),
        drain: DRAIN,
        timeout: TIMEOUT,
        seed: Seed(setting.seed).child(NAMES[host]).numbered(u64::from(round)),
        sessions: SessionPolicy::Pooled { max: setting.clients },
        protocol: Protocol::Prepared,
        threads: 1,
        cpus: Vec::new(),
        busy_poll: false,
        request_log: None,
    })
}

type Loading<'scope> = ScopedJoinHandle<'scope, Result<LoadResult, LoadError>>;

/// A load on a thread of its own, that counts itself as begun when its sessions are open.
fn start<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    plan: &'env LoadPlan,
    stop: &'env Stop,
    begun: &'env AtomicUsize,
) -> Loading<'scope> {
    scope.spawn(move || {
        let mut told = false;
        load::run(plan, stop, &mut |progress| {
            if !told && progress.phase != LoadPhase::Opening {
                told = true;
                begun.fetch_add(1, Ordering::Relaxed);
            }
        })
    })
}

fn within(setting: &Setting) -> (f64, f64) {
    (setting.warm_up_s, setting.run_s())
}

/// Asks the hosts until a load has ended: where it is the first, the other one no longer has a rival.
fn watch(
    session: &Session,
    pair: &Pair,
    setting: &Setting,
    loads: &[Loading<'_>],
    begun: &AtomicUsize,
) -> Result<Watch> {
    let mut watch = Watch::default();
    let is_over = || session.stop.is_set() || loads.iter().any(ScopedJoinHandle::is_finished);
    while begun.load(Ordering::Relaxed) < loads.len() && !is_over() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let clock = Clock::start();
    let nap = Duration::from_secs_f64(setting.period_s / LOOKS);
    while !is_over() && clock.now().as_secs_f64() < setting.run_s() {
        pair.check()?;
        for (place, host) in pair.hosts().iter().enumerate() {
            if let Some(status) = host.status()? {
                watch.look(place, &status, clock.now().as_secs_f64(), within(setting));
            }
        }
        std::thread::sleep(nap.min(NAP));
    }
    while !session.stop.is_set() && !loads.iter().all(ScopedJoinHandle::is_finished) {
        pair.check()?;
        std::thread::sleep(NAP);
    }
    pair.check()?;
    Ok(watch)
}

fn outcome(setting: &Setting, key: Key, watch: Watch, plans: &[LoadPlan], loaded: &[LoadResult]) -> Run {
    let mut hosts = [Figures::default(); NAMES.len()];
    let mut caveats = Vec::new();
    for (host, (plan, result)) in plans.iter().zip(loaded).enumerate() {
        hosts[host] = figures(result, watch.figures(host, within(setting)));
        // Clients that do not think are always under way.
        let found = command::caveats(plan, result);
        let doubts = found.iter().filter(|caveat| !matches!(caveat, Caveat::BacklogAtEnd { .. }));
        caveats.extend(doubts.map(|caveat| format!("host {}: {caveat}", NAMES[host])));
    }
    Run { key, hosts, periods: watch.periods, caveats }
}

/// What the clients saw, over what the disk did.
fn figures(load: &LoadResult, disk: Figures) -> Figures {
    let orders = orders_per_minute(load);
    let counts = &load.counts;
    Figures {
        orders_per_minute: orders.as_ref().map_or(0.0, |orders| orders.mean),
        standard_error: orders.and_then(|orders| orders.se),
        response_ms: times(&load.response, Some(load.response_sum)).mean_ms,
        rolled_back: load.rolled_back,
        lost: counts.failed.values().sum::<u64>() + counts.timed_out + counts.unsent,
        ..disk
    }
}
