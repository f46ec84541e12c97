//! Both stores ordered from at the same time, and what came of it.

use super::NAMES;
use super::pair::Pair;
use super::record::Setting;
use super::watch::Watch;
use crate::harness::Run;
use crate::profile::{load_caveats, orders_per_minute, times};
use crate::published::{At, PublishedError, Result, begun, closed, workload};
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_lab::data::dvdstore;
use evenkeel_lab::load::{LoadError, LoadPlan, LoadResult, Protocol};
use evenkeel_os::clock::Clock;
use evenkeel_os::stop::Stop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{ScopedJoinHandle, sleep};
use std::time::Duration;

/// After the measured time, what is under way is awaited for this long at most; it counts with the age it reached.
const DRAIN: Nanos = Nanos::from_secs(20);
/// How often hosts are asked in a period.
const LOOKS: f64 = 2.0;
/// Longest nap, so that Ctrl-C is seen.
const NAP: Duration = Duration::from_millis(100);

type Loading<'scope> = ScopedJoinHandle<'scope, Result<LoadResult, LoadError>>;

/// Orders from both for the time of the setting; `None` where somebody asked to stop.
pub fn contend(at: &At<'_, Setting>, pair: &Pair, seed: Seed) -> Result<Option<Run>> {
    let mut watch = Watch::new(at.setting.within());
    let plan = |(host, name): (usize, &&str)| {
        let target = pair.store(host);
        let workload = workload(dvdstore::NAME, &target)?;
        let times_s = (at.setting.warm_up_s, at.setting.duration_s);
        let plan = closed((target, workload), at.setting.clients, times_s, seed.child(name));
        Ok(LoadPlan { drain: DRAIN, protocol: Protocol::Prepared, ..plan })
    };
    let plans: Vec<LoadPlan> = NAMES.iter().enumerate().map(plan).collect::<Result<_>>()?;
    // Ends both loads, for Ctrl-C as well as where one of them or a host fails.
    let (stop, open) = (&Stop::default(), &AtomicUsize::new(0));
    let opened = |_: Nanos| {
        open.fetch_add(1, Ordering::Relaxed);
    };
    let (watched, ended) = std::thread::scope(|scope| {
        let start = |plan| scope.spawn(move || begun(plan, stop, opened));
        let loads: Vec<Loading<'_>> = plans.iter().map(start).collect();
        let watched = watched(at, pair, &loads, open, &mut watch);
        if at.workplace.stop.is_set() || watched.is_err() {
            stop.set();
        }
        (watched, loads.into_iter().map(ScopedJoinHandle::join).collect::<Vec<_>>())
    });
    watched?;
    let mut run = Run { series: watch.series(), ..Run::default() };
    for (host, (plan, result)) in plans.iter().zip(ended).enumerate() {
        let result = result.map_err(|_| PublishedError::wrong("a load ended badly"))??;
        let name = NAMES[host];
        for (figure, value) in orders(&result).into_iter().chain(watch.figures(host)) {
            run.set(&format!("{figure}@{name}"), value);
        }
        // Clients that do not think are always under way.
        let found = load_caveats(plan, &result).into_iter().filter(|caveat| caveat.code != "backlog-at-end");
        run.caveats.extend(found.map(|caveat| caveat.of(&format!("host {name}: "))));
    }
    run.set("orders_ratio", ratio(&run));
    Ok(Some(run).filter(|_| !at.workplace.stop.is_set()))
}

/// Asks the hosts until a load has ended: where it is the first, the other one no longer has a rival.
fn watched(
    at: &At<'_, Setting>,
    pair: &Pair,
    loads: &[Loading<'_>],
    open: &AtomicUsize,
    watch: &mut Watch,
) -> Result<()> {
    let is_over = || at.workplace.stop.is_set() || loads.iter().any(ScopedJoinHandle::is_finished);
    while open.load(Ordering::Relaxed) < loads.len() && !is_over() {
        sleep(Duration::from_millis(10));
    }
    let clock = Clock::start();
    let now_s = || clock.now().as_secs_f64();
    let nap = Duration::from_secs_f64(at.setting.period_s / LOOKS).min(NAP);
    while !is_over() && now_s() < at.setting.within().1 {
        pair.check()?;
        for (place, host) in pair.hosts().iter().enumerate() {
            if let Some(status) = host.status()? {
                watch.look(place, &status, now_s());
            }
        }
        sleep(nap);
    }
    // What is under way is awaited.
    while !at.workplace.stop.is_set() && !loads.iter().all(ScopedJoinHandle::is_finished) {
        pair.check()?;
        sleep(NAP);
    }
    pair.check()
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
