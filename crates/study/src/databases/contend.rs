//! Both stores ordered from at the same time, and what came of it.

use super::NAMES;
use super::pair::Pair;
use super::record::Setting;
use crate::harness::{Run, Series};
use crate::profile::{load_caveats, orders_per_minute, times};
use crate::published::{At, HostStatus, Periods, PublishedError, Result, begun, closed, of_hosts, workload};
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_core::statistics::Estimate;
use evenkeel_lab::data::dvdstore;
use evenkeel_lab::load::{LoadError, LoadPlan, LoadResult, Protocol};
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
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

/// What is known of each period of a host.
pub const OF_HOST: [&str; 6] = ["window", "outstanding", "wanted", "beta", "ios_per_s", "latency_ms"];

/// Its end since both loads began, whose it was, and the figures.
pub type Row = (f64, usize, [Option<f64>; OF_HOST.len()]);

pub struct Watch {
    seen: Periods,
    /// Measured time.
    within: (f64, f64),
    pub rows: Vec<Row>,
    /// Of each host first and last within the measured time: seconds on its own clock, and I/Os since it began.
    ends: [Option<[(f64, u64); 2]>; NAMES.len()],
}

impl Watch {
    pub fn new(within: (f64, f64)) -> Self {
        Self { seen: Periods::new(NAMES.len()), within, rows: Vec::new(), ends: Default::default() }
    }

    /// Adds a period of a host that is new; it ended just before `now_s`.
    pub fn look(&mut self, host: usize, status: &HostStatus, now_s: f64) {
        let Some((window, _)) = self.seen.look(host, status) else { return };
        // As the law counts it; by its formula where another one sets the window, and has none.
        let beta = status.beta.unwrap_or_else(|| status.used_shares(window));
        let known = [status.window, status.outstanding, status.wanted(), beta, status.ios_per_s].map(Some);
        let [window, outstanding, wanted, beta, ios] = known;
        let latency_ms = status.latency_s.map(|seconds| 1e3 * seconds);
        self.rows.push((now_s, host, [window, outstanding, wanted, beta, ios, latency_ms]));
        if self.is_measured(now_s) {
            let counted = (status.at_s, status.disks.iter().map(|disk| disk.reads + disk.writes).sum());
            self.ends[host] = Some([self.ends[host].map_or(counted, |[first, _]| first), counted]);
        }
    }

    fn is_measured(&self, at_s: f64) -> bool {
        at_s > self.within.0 && at_s <= self.within.1
    }

    /// What the disk of a host did in the measured time: means over periods, the rate of all I/Os, and the latency over them.
    pub fn figures(&self, host: usize) -> impl Iterator<Item = (&'static str, Option<f64>)> {
        let own = self.rows.iter().filter(|(at_s, of, _)| *of == host && self.is_measured(*at_s));
        let own: Vec<_> = own.map(|(.., values)| values).collect();
        let mean = |place: usize| {
            let values: Vec<f64> = own.iter().filter_map(|values| values[place]).collect();
            Estimate::of(&values).map(|mean| mean.mean)
        };
        let latencies = own.iter().filter_map(|values| values[4].zip(values[5]));
        let (ios, sum) = latencies.fold((0.0, 0.0), |(ios, sum), (more, ms)| (ios + more, sum + more * ms));
        let rate = self.ends[host]
            .map_or(0.0, |[first, last]| (last.1 - first.1) as f64 / (last.0 - first.0).max(1e-9));
        let latency_ms = (ios > 0.0).then(|| sum / ios);
        let known = [mean(0), mean(1), mean(2), mean(3), Some(rate), latency_ms];
        OF_HOST.into_iter().zip(known)
    }

    /// Every period of both hosts.
    pub fn series(&self) -> Series {
        of_hosts(&NAMES, OF_HOST, self.rows.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::DiskStatus;

    fn status(at_s: f64, ios: u64, window: f64) -> HostStatus {
        let disk = DiskStatus { shares: 4.0, wanted: 8.0, reads: ios, writes: 0 };
        HostStatus { at_s, window, ios_per_s: 100.0, disks: vec![disk], ..HostStatus::default() }
    }

    #[test]
    fn a_period_is_counted_once_and_rates_are_of_all_ios_between() {
        let mut watch = Watch::new((0.5, 3.0));
        for (at_s, ios, now_s) in
            [(1.0, 0, 0.1), (1.0, 0, 0.3), (1.5, 40, 0.6), (2.0, 100, 1.1), (3.5, 400, 2.6)]
        {
            watch.look(1, &status(at_s, ios, if at_s > 3.0 { 4.0 } else { 16.0 }), now_s);
        }
        let beta: Vec<Option<f64>> = watch.rows.iter().map(|(.., values)| values[3]).collect();
        assert_eq!(beta, [Some(2.0); 4], "8 of 16, also in the period at whose end the window fell to 4");
        let of = |host: usize, name: &str| watch.figures(host).find(|(known, _)| *known == name).unwrap().1;
        assert_eq!(of(1, "ios_per_s"), Some(180.0), "360 in 2 s, although periods were missed");
        assert_eq!(of(1, "wanted"), Some(8.0));
        assert_eq!(of(0, "ios_per_s"), Some(0.0), "of the other nothing was heard");
    }
}
