//! Both stores ordered from at the same time, and what came of it.

use super::NAMES;
use super::pair::Pair;
use super::record::{Figures, Key, Phase, Run, Setting};
use super::watch::Watch;
use crate::profile::{load_caveats, orders_per_minute, times};
use crate::published::{PublishedError, Result, Workplace, workload};
use evenkeel_core::Nanos;
use evenkeel_core::caveat::Caveat;
use evenkeel_core::random::Seed;
use evenkeel_core::share::simulation::Stretch;
use evenkeel_lab::data::dvdstore;
use evenkeel_lab::load::{
    self, ArrivalPlan, LoadError, LoadPhase, LoadPlan, LoadResult, Protocol, SessionPolicy,
};
use evenkeel_os::clock::Clock;
use evenkeel_os::stop::Stop;
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

/// A run at work.
struct Contest<'a> {
    workplace: &'a Workplace<'a>,
    pair: &'a Pair,
    setting: &'a Setting,
    watch: Watch,
    /// Since both loads of the first phase began.
    clock: Option<Clock>,
}

/// A phase that is over: from when on its loads ran, what was asked of them, and what came of it.
struct Loaded {
    from_s: f64,
    plans: Vec<LoadPlan>,
    results: Vec<LoadResult>,
}

/// Orders from both for the time of the setting; `None` where somebody asked to stop.
pub fn contend(
    workplace: &Workplace<'_>,
    pair: &Pair,
    setting: &Setting,
    seed: Seed,
    key: Key,
) -> Result<Option<Run>> {
    let mut contest = Contest { workplace, pair, setting, watch: Watch::default(), clock: None };
    let mut done = Vec::new();
    for (number, phase) in setting.phases().iter().enumerate() {
        let seed = seed.numbered(u64::from(key.round)).child("phase").numbered(number as u64);
        let Some(loaded) = contest.phase(phase, seed)? else { return Ok(None) };
        done.push(loaded);
    }
    let lull = done.get(1).zip(done.get(2)).map(|(lull, after)| (lull.from_s, after.from_s));
    Ok(done.first().map(|measured| outcome(setting, key, contest.watch, measured, lull)))
}

impl Contest<'_> {
    /// Orders from both for a phase; `None` where somebody asked to stop.
    fn phase(&mut self, phase: &Phase, seed: Seed) -> Result<Option<Loaded>> {
        let plans: Vec<LoadPlan> =
            (0..NAMES.len()).map(|host| plan(self.pair, phase, host, seed)).collect::<Result<_>>()?;
        // Ends both loads, for Ctrl-C as well as where one of them or a host fails.
        let (stop, begun) = (Stop::default(), AtomicUsize::new(0));
        let (watched, ended) = std::thread::scope(|scope| {
            let loads: Vec<_> = plans.iter().map(|plan| start(scope, plan, &stop, &begun)).collect();
            let watched = self.watch(phase, &loads, &begun);
            if self.workplace.stop.is_set() || watched.is_err() {
                stop.set();
            }
            let ended: Vec<_> = loads.into_iter().map(ScopedJoinHandle::join).collect();
            (watched, ended)
        });
        if self.workplace.stop.is_set() {
            return Ok(None);
        }
        let from_s = watched?;
        let mut results = Vec::new();
        for result in ended {
            results.push(result.map_err(|_| PublishedError::wrong("a load ended badly"))??);
        }
        Ok(Some(Loaded { from_s, plans, results }))
    }

    /// Asks the hosts until a load has ended: where it is the first, the other one no longer has a rival. Says from when on
    /// both ran.
    fn watch(&mut self, phase: &Phase, loads: &[Loading<'_>], begun: &AtomicUsize) -> Result<f64> {
        let stop = self.workplace.stop;
        let is_over = || stop.is_set() || loads.iter().any(ScopedJoinHandle::is_finished);
        while begun.load(Ordering::Relaxed) < loads.len() && !is_over() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let from_s = self.clock.get_or_insert_with(Clock::start).now().as_secs_f64();
        let until_s = from_s + phase.warm_up_s + phase.duration_s;
        let nap = Duration::from_secs_f64(self.setting.period_s / LOOKS).min(NAP);
        while !is_over() && self.look()? < until_s {
            std::thread::sleep(nap);
        }
        // What is under way is awaited; with a lull that is a part of what is drawn.
        while !stop.is_set() && !loads.iter().all(ScopedJoinHandle::is_finished) {
            self.pair.check()?;
            if self.setting.lull_s > 0.0 {
                self.look()?;
            }
            std::thread::sleep(NAP);
        }
        self.pair.check()?;
        Ok(from_s)
    }

    /// Asks both hosts; the time when it was done, since the loads began.
    fn look(&mut self) -> Result<f64> {
        self.pair.check()?;
        let clock = self.clock.get_or_insert_with(Clock::start);
        for (place, host) in self.pair.hosts().iter().enumerate() {
            if let Some(status) = host.status()? {
                self.watch.look(place, &status, clock.now().as_secs_f64(), within(self.setting));
            }
        }
        Ok(clock.now().as_secs_f64())
    }
}

fn plan(pair: &Pair, phase: &Phase, host: usize, seed: Seed) -> Result<LoadPlan> {
    let target = pair.store(host);
    let workload = workload(dvdstore::NAME, &target)?;
    Ok(LoadPlan {
        target,
        workload,
        arrivals: ArrivalPlan::Closed { clients: phase.clients[host], think: Nanos::ZERO },
        warm_up: Nanos::from_secs_f64(phase.warm_up_s),
        warm_up_max: None,
        measure: Nanos::from_secs_f64(phase.duration_s),
        drain: DRAIN,
        timeout: TIMEOUT,
        seed: seed.child(NAMES[host]),
        sessions: SessionPolicy::Pooled { max: phase.clients[host] },
        protocol: Protocol::Prepared,
        threads: 1,
        cpus: Vec::new(),
        busy_poll: false,
        request_log: None,
        parts: None,
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

fn outcome(setting: &Setting, key: Key, watch: Watch, measured: &Loaded, lull: Option<Stretch>) -> Run {
    let mut hosts = [Figures::default(); NAMES.len()];
    let mut caveats = Vec::new();
    for (host, (plan, result)) in measured.plans.iter().zip(&measured.results).enumerate() {
        hosts[host] = figures(result, watch.figures(host, within(setting)));
        // Clients that do not think are always under way.
        let found = load_caveats(plan, result);
        let doubts = found.into_iter().filter(|caveat| caveat.code != "backlog-at-end");
        caveats.extend(doubts.map(|caveat: Caveat| caveat.of(&format!("host {}: ", NAMES[host]))));
    }
    Run { key, hosts, periods: watch.periods, lull, caveats }
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
