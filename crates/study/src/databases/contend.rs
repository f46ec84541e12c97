//! Both stores ordered from at the same time, and what came of it.

use super::NAMES;
use super::figures::series;
use super::pair::Pair;
use super::record::Setting;
use super::watch::Watch;
use crate::harness::Run;
use crate::profile::{load_caveats, orders_per_minute, times};
use crate::published::{PublishedError, Result, Workplace, workload};
use evenkeel_core::Nanos;
use evenkeel_core::caveat::Caveat;
use evenkeel_core::random::Seed;
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

struct Contest<'a> {
    workplace: &'a Workplace<'a>,
    pair: &'a Pair,
    setting: &'a Setting,
    watch: Watch,
    /// Since both loads began.
    clock: Clock,
}

/// Orders from both for the time of the setting; `None` where somebody asked to stop.
pub fn contend(workplace: &Workplace<'_>, pair: &Pair, setting: &Setting, seed: Seed) -> Result<Option<Run>> {
    let mut contest = Contest { workplace, pair, setting, watch: Watch::default(), clock: Clock::start() };
    let plans: Vec<LoadPlan> =
        (0..NAMES.len()).map(|host| plan(pair, setting, host, seed)).collect::<Result<_>>()?;
    let Some(results) = contest.loaded(&plans)? else { return Ok(None) };
    Ok(Some(outcome(setting, &contest.watch, &plans, &results)))
}

impl Contest<'_> {
    /// What came of both loads; `None` where somebody asked to stop.
    fn loaded(&mut self, plans: &[LoadPlan]) -> Result<Option<Vec<LoadResult>>> {
        // Ends both loads, for Ctrl-C as well as where one of them or a host fails.
        let (stop, begun) = (Stop::default(), AtomicUsize::new(0));
        let (watched, ended) = std::thread::scope(|scope| {
            let loads: Vec<_> = plans.iter().map(|plan| start(scope, plan, &stop, &begun)).collect();
            let watched = self.watch(&loads, &begun);
            if self.workplace.stop.is_set() || watched.is_err() {
                stop.set();
            }
            let ended: Vec<_> = loads.into_iter().map(ScopedJoinHandle::join).collect();
            (watched, ended)
        });
        if self.workplace.stop.is_set() {
            return Ok(None);
        }
        watched?;
        let mut results = Vec::new();
        for result in ended {
            results.push(result.map_err(|_| PublishedError::wrong("a load ended badly"))??);
        }
        Ok(Some(results))
    }

    /// Asks the hosts until a load has ended: where it is the first, the other one no longer has a rival.
    fn watch(&mut self, loads: &[Loading<'_>], begun: &AtomicUsize) -> Result<()> {
        let stop = self.workplace.stop;
        let is_over = || stop.is_set() || loads.iter().any(ScopedJoinHandle::is_finished);
        while begun.load(Ordering::Relaxed) < loads.len() && !is_over() {
            std::thread::sleep(Duration::from_millis(10));
        }
        self.clock = Clock::start();
        let nap = Duration::from_secs_f64(self.setting.period_s / LOOKS).min(NAP);
        while !is_over() && self.look()? < self.setting.run_s() {
            std::thread::sleep(nap);
        }
        // What is under way is awaited.
        while !stop.is_set() && !loads.iter().all(ScopedJoinHandle::is_finished) {
            self.pair.check()?;
            std::thread::sleep(NAP);
        }
        self.pair.check()
    }

    /// Asks both hosts; the time when it was done, since the loads began.
    fn look(&mut self) -> Result<f64> {
        self.pair.check()?;
        for (place, host) in self.pair.hosts().iter().enumerate() {
            if let Some(status) = host.status()? {
                self.watch.look(place, &status, self.clock.now().as_secs_f64(), within(self.setting));
            }
        }
        Ok(self.clock.now().as_secs_f64())
    }
}

fn plan(pair: &Pair, setting: &Setting, host: usize, seed: Seed) -> Result<LoadPlan> {
    let target = pair.store(host);
    let workload = workload(dvdstore::NAME, &target)?;
    Ok(LoadPlan {
        target,
        workload,
        arrivals: ArrivalPlan::Closed { clients: setting.clients, think: Some(Nanos::ZERO) },
        warm_up: Nanos::from_secs_f64(setting.warm_up_s),
        warm_up_max: None,
        measure: Nanos::from_secs_f64(setting.duration_s),
        drain: DRAIN,
        timeout: TIMEOUT,
        seed: seed.child(NAMES[host]),
        sessions: SessionPolicy::Pooled { max: setting.clients },
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

fn outcome(setting: &Setting, watch: &Watch, plans: &[LoadPlan], results: &[LoadResult]) -> Run {
    let mut run = Run { series: series(&watch.periods), ..Run::default() };
    for (host, (plan, result)) in plans.iter().zip(results).enumerate() {
        let name = NAMES[host];
        for (figure, value) in orders(result).into_iter().chain(watch.figures(host, within(setting))) {
            run.set(&format!("{figure}@{name}"), value);
        }
        // Clients that do not think are always under way.
        let found = load_caveats(plan, result);
        let doubts = found.into_iter().filter(|caveat| caveat.code != "backlog-at-end");
        run.caveats.extend(doubts.map(|caveat: Caveat| caveat.of(&format!("host {name}: "))));
    }
    run.set("orders_ratio", ratio(&run));
    run
}

/// Orders of host b over those of host a; `None` where a made none.
pub fn ratio(run: &Run) -> Option<f64> {
    let [a, b] = NAMES.map(|name| run.figure(&format!("orders_per_minute@{name}")));
    a.filter(|a| *a > 0.0).zip(b).map(|(a, b)| b / a)
}

/// What the clients saw. Orders rolled back for want of stock count, as the benchmark has it.
fn orders(load: &LoadResult) -> [(&'static str, Option<f64>); 5] {
    let orders = orders_per_minute(load);
    let counts = &load.counts;
    let lost = counts.failed.values().sum::<u64>() + counts.timed_out + counts.unsent;
    [
        ("orders_per_minute", Some(orders.as_ref().map_or(0.0, |orders| orders.mean))),
        ("orders_per_minute_se", orders.and_then(|orders| orders.se)),
        ("order_ms", Some(times(&load.response, Some(load.response_sum)).mean_ms)),
        ("rolled_back", Some(load.rolled_back as f64)),
        ("lost", Some(lost as f64)),
    ]
}
