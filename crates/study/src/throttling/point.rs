//! One point: a fresh guard, closed clients, and what came of it.

use super::figures::{COUNTERS_REFUSED, SETTLED, SETTLED_AT, WAITED};
use super::record::{Setting, Times, Treatment};
use super::server::Server;
use crate::harness::Run;
use crate::profile::times;
use crate::published::{
    Guard, GuardPlan, PublishedError, Result, Tick, Watch, While, Workplace, begun, closed,
};
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_lab::load::{LoadPlan, LoadResult};
use evenkeel_os::clock::Clock;
use evenkeel_os::{Background, Until};
use evenkeel_sense::cpu::Affinity;
use evenkeel_sense::sampler::{Sampler, SensePlan, SenseRecord};
use evenkeel_sense::status::{StatusReading, StatusUse};
use evenkeel_sense::{CpuOf, CpuSet};
use evenkeel_site::server::{Address, Control, StatusOf, Target};
use std::path::Path;

/// The limit of a guard that never limits: more than a server has connections.
const NO_LIMIT: u32 = 4_096;
const DEADLOCK: u16 = 1213;

/// Where points are measured.
pub struct Bench<'a> {
    pub setting: &'a Setting,
    pub workplace: Workplace<'a>,
    pub seed: Seed,
    pub server: &'a Server,
    pub server_cpus: CpuSet,
    pub generator_cpus: CpuSet,
    /// For the journals of guards; removed by whoever made it.
    pub scratch: &'a Path,
}

/// A guard in front of the server, or nothing.
pub struct Front {
    guard: Option<Box<dyn Guard>>,
    /// Where clients go.
    pub target: Target,
}

impl Bench<'_> {
    /// Puts up what stands between clients and server.
    pub fn front(&self, way: Treatment) -> Result<Front> {
        let server = self.server.tcp_target();
        let journal = self.scratch.join("guard.jsonl");
        let _ = std::fs::remove_file(&journal);
        let Some(controller) = way.controller() else {
            return Ok(Front { guard: None, target: server });
        };
        let plan = GuardPlan {
            backend: server.address.to_string(),
            controller,
            limit: (way == Treatment::Unlimited).then_some(NO_LIMIT),
            span_s: self.setting.settle_of(way).map(|settle| settle.span_s),
            journal,
            // They see whole CPUs, and this server has its own.
            counters: self.has_own_cpus(),
        };
        // A child inherits where its parent may run; we ourselves go back to where we were.
        let own = CpuOf::Process(std::process::id()).cpus();
        let _ = Affinity::of(&self.generator_cpus).apply();
        let guard = self.workplace.program.guard(&plan);
        let _ = own.map(|own| Affinity::of(&own).apply());
        let guard = guard?;
        let address = guard.address().parse::<Address>();
        let address = address.map_err(|_| PublishedError::wrong("the guard named no valid address"))?;
        Ok(Front { guard: Some(guard), target: Target { address, ..server } })
    }

    /// Whether nobody else is meant to run on the server's CPUs.
    fn has_own_cpus(&self) -> bool {
        self.server_cpus.intersection(&self.generator_cpus).is_empty()
    }

    /// A load of closed clients that do not think.
    pub fn load(&self, target: &Target, clients: u32, seed: Seed, times_s: (f64, f64)) -> Result<LoadPlan> {
        let asked = (target.clone(), self.server.workload()?);
        let cpus = self.generator_cpus.iter().map(|cpu| cpu as usize).collect();
        Ok(LoadPlan { cpus, ..closed(asked, clients, times_s, seed) })
    }

    /// Measures a point of this name; `None` where somebody asked to stop.
    pub fn point(&self, name: &str, way: Treatment, clients: u32, times: Times) -> Result<Option<Run>> {
        let mut front = self.front(way)?;
        let times_s = (times.warm_up_s, times.duration_s);
        let plan = self.load(&front.target, clients, self.seed.child(name), times_s)?;
        let mut run = Run::default();
        let mut began_s = 0.0;
        let (load, seen) = match self.setting.settle_of(way) {
            None => self.observed(&plan, front.guard_process(), |_| {})?,
            Some(settle) => {
                let Some(settled) = self.settled(&mut front, &plan, settle)? else { return Ok(None) };
                run.set(SETTLED, f64::from(u8::from(settled.settling.settled)));
                run.set(WAITED, settled.settling.waited_s);
                run.set(SETTLED_AT, f64::from(settled.settling.limit));
                began_s = settled.began_s;
                (settled.load, settled.seen)
            }
        };
        let mut ticks = front.end()?;
        if load.stopped {
            return Ok(None);
        }
        ticks.retain(|tick| tick.sample.start.as_secs_f64() >= began_s);
        outcome(&mut run, &load);
        let measured = during(&ticks, times.warm_up_s, times.warm_up_s + load.measured.as_secs_f64());
        limits(&mut run, &measured);
        if let Some(seen) = seen {
            server_figures(&mut run, &load, &seen, in_flight(&measured, clients));
            run.notes.extend(self.refused(&seen).map(|reason| (COUNTERS_REFUSED.to_owned(), reason)));
        }
        Ok(Some(run))
    }

    /// Load that nobody looks at: a server that was just filled or started is slower at first.
    pub fn warm_up(&self, clients: u32, warm_up_s: f64) -> Result<()> {
        let seed = self.seed.child("warm up");
        let plan = self.load(&self.server.tcp_target(), clients.max(4), seed, (0.0, warm_up_s))?;
        Ok(begun(&plan, self.workplace.stop, |_| {}).map(drop)?)
    }

    /// Runs a load and looks at the server meanwhile, and at the guard in front of it; `told` is how long the load has run when its
    /// sessions are open.
    pub fn observed(
        &self,
        plan: &LoadPlan,
        guard: Option<u32>,
        told: impl FnOnce(Nanos),
    ) -> Result<(LoadResult, Option<Seen>)> {
        let sense = SensePlan {
            domain: Some(CpuOf::Cpus(self.server_cpus.clone())),
            server_pid: Some(self.server.pid()?),
            generator_cpus: Some(self.generator_cpus.clone()),
            counters: self.has_own_cpus(),
            ..SensePlan::default()
        };
        let mut observer = None;
        let load = begun(plan, self.workplace.stop, |elapsed| {
            told(elapsed);
            let times = (plan.warm_up - elapsed, plan.measure);
            observer = Some(Observer::start(sense, &self.server.target(), guard, times));
        });
        let seen = observer.transpose()?.map(Observer::finish);
        Ok((load?, seen))
    }

    fn refused(&self, seen: &Seen) -> Option<String> {
        if !self.has_own_cpus() {
            return Some("server and clients share CPUs, which counters cannot tell apart".to_owned());
        }
        seen.sense.counters_refused.clone()
    }
}

impl Front {
    pub fn guard_process(&self) -> Option<u32> {
        self.guard.as_ref().map(|guard| guard.process())
    }

    /// The ticks of the guard since the last call; none without one.
    pub fn ticks(&mut self) -> Result<Vec<Tick>> {
        self.guard.as_mut().map_or_else(|| Ok(Vec::new()), |guard| guard.ticks())
    }

    pub fn end(self) -> Result<Vec<Tick>> {
        self.guard.map_or_else(|| Ok(Vec::new()), |guard| guard.end())
    }
}

fn outcome(run: &mut Run, load: &LoadResult) {
    let counts = &load.counts;
    let measured_s = load.measured.as_secs_f64().max(1e-9);
    let response = times(&load.response, Some(load.response_sum));
    let completed: u64 = load.intervals.iter().map(|interval| interval.completed).sum();
    let deadlocks = counts.failed.get(&DEADLOCK).copied().unwrap_or(0);
    let failed = counts.failed.values().sum::<u64>() - deadlocks;
    let lost = counts.timed_out + counts.unsent;
    for (name, value) in [
        ("throughput_per_s", completed as f64 / measured_s),
        ("response_mean_ms", response.mean_ms),
        ("response_p95_ms", response.p95_ms),
        ("deadlock_percent", 100.0 * deadlocks as f64 / counts.completed.max(1) as f64),
        ("generator_percent", 100.0 * load.cpu_busiest.as_secs_f64() / measured_s),
        ("measured_s", measured_s),
        ("arrivals", counts.arrivals as f64),
        ("completed", completed as f64),
        ("deadlocks", deadlocks as f64),
        ("failed", failed as f64),
        ("lost", lost as f64),
    ] {
        run.set(name, value);
    }
}

/// What the server spent on each commit; `in_flight` is how many requests were at the server in the mean.
fn server_figures(run: &mut Run, load: &LoadResult, seen: &Seen, in_flight: f64) {
    run.set("other_load_percent", seen.other_load_percent);
    let commits = run.figure("completed").unwrap_or(0.0);
    let per_commit = |value: f64| (commits > 0.0).then_some(value / commits);
    if let Some(whole) = &seen.sense.whole {
        // The sampler's stretch is the measured phase but for its own lateness.
        let share = load.measured.as_secs_f64() / whole.duration.as_secs_f64().max(1e-9);
        let server = whole.server.as_ref();
        run.set("cpu_ms_per_commit", server.and_then(|used| per_commit(used.busy.as_millis_f64() * share)));
        run.set("theta_percent", server.map(|used| used.total));
        run.set("steal_percent", whole.domain.as_ref().and_then(|used| used.steal));
        let counted = whole.counters.unwrap_or_default();
        let events =
            |estimate: Option<evenkeel_sense::counters::Estimate>| per_commit(estimate?.events * share);
        run.set("cycles_per_commit", events(counted.cycles));
        run.set("dtlb_misses_per_commit", events(counted.dtlb_load_misses));
        run.set("cache_misses_per_commit", events(counted.cache_misses));
        let switches = whole.switches.and_then(|count| per_commit(count as f64 * share));
        run.set("switches_per_commit", switches);
    }
    if let Some(status) = &seen.status {
        let counter = |name: &str| status.counter(name).map(|count| count as f64);
        run.set("pages_read_per_commit", counter("Innodb_pages_read").and_then(per_commit));
        let in_flight_ms = 1e3 * load.measured.as_secs_f64() * in_flight;
        run.set(
            "lock_wait_percent",
            counter("Innodb_row_lock_time").map(|waited| 100.0 * waited / in_flight_ms),
        );
    }
}

pub fn mean(measured: &[&Tick], of: impl Fn(&Tick) -> f64) -> Option<f64> {
    let sum: f64 = measured.iter().map(|tick| of(tick)).sum();
    (!measured.is_empty()).then(|| sum / measured.len() as f64)
}

/// Requests at the server in the mean: as many as there are clients, or as the guard lets in.
fn in_flight(measured: &[&Tick], clients: u32) -> f64 {
    let guarded = mean(measured, |tick| tick.sample.in_flight_mean).filter(|in_flight| *in_flight > 0.0);
    guarded.unwrap_or(f64::from(clients))
}

/// What the guard did while it was measured.
fn limits(run: &mut Run, measured: &[&Tick]) {
    run.set("limit_last", measured.last().map(|tick| f64::from(tick.decided)));
    run.set("limit_mean", mean(measured, |tick| f64::from(tick.sample.limit)));
}

/// The ticks between two instants of a load, in seconds from its start. The guard's clock is its own; the load
/// begins with its first transaction, which the tick tells to a tenth of a second.
pub fn during(ticks: &[Tick], from_s: f64, to_s: f64) -> Vec<&Tick> {
    let is_busy = |tick: &&Tick| tick.sample.completions > 0 || tick.sample.in_flight_max > 0;
    let Some(start) = ticks.iter().find(is_busy).map(|tick| tick.sample.start.as_secs_f64()) else {
        return Vec::new();
    };
    let is_within = |tick: &&Tick| {
        let end = tick.sample.end.as_secs_f64() - start;
        end > from_s && end <= to_s
    };
    ticks.iter().filter(is_within).collect()
}

pub struct Observer {
    sampler: Sampler,
    watch: Background<(Option<StatusUse>, Option<f64>)>,
}

pub struct Seen {
    /// What the machine's sensors saw.
    pub sense: SenseRecord,
    /// The server; `None` where it did not answer.
    pub status: Option<StatusUse>,
    /// CPU of the others on the machine, percent of the whole machine: of whoever is neither server nor guard nor clients.
    pub other_load_percent: Option<f64>,
}

impl Observer {
    /// Begins now; `delay` later the measured phase begins, and lasts `measure`. A guard in front of the server is named by its
    /// process.
    pub fn start(
        mut plan: SensePlan,
        target: &Target,
        guard: Option<u32>,
        (delay, measure): (Nanos, Nanos),
    ) -> Result<Self> {
        (plan.delay, plan.duration) = (delay, measure);
        let mut control = Control::connect(target)?;
        let (server, clock) = (plan.server_pid, Clock::start());
        let watch = move |until: &Until| {
            until.wait_until(delay, || clock.now());
            let watch = Watch::begin(server.into_iter().chain(guard));
            let (before, began) = (read(&mut control), clock.now());
            until.wait_until(delay + measure, || clock.now());
            let other_load_percent = watch.end().other_load_percent;
            let (after, over) = (read(&mut control), clock.now() - began);
            let status = before.zip(after).map(|(before, after)| StatusUse::between(&before, &after, over));
            (status, other_load_percent)
        };
        let watch = Background::start("status", watch).doing(|| "starting a thread")?;
        Ok(Self { sampler: Sampler::start(plan).doing(|| "starting a sampler")?, watch })
    }

    /// Ends both, early if need be.
    pub fn finish(self) -> Seen {
        // A panic in it has been told already; then nothing was read.
        let (status, other_load_percent) = self.watch.finish().unwrap_or_default();
        Seen { sense: self.sampler.finish(), status, other_load_percent }
    }
}

fn read(control: &mut Control) -> Option<StatusReading> {
    Some(StatusReading::from(&control.status_of(StatusOf::Server, &[]).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::control::Sample;

    fn tick(tenth: u64, in_flight_max: u32, decided: u32) -> Tick {
        let (start, end) = (Nanos::from_millis(100 * tenth), Nanos::from_millis(100 * tenth + 100));
        let sample = Sample { start, end, in_flight_max, limit: decided, ..Sample::default() };
        Tick { sample, decided }
    }

    #[test]
    fn ticks_count_from_the_first_transaction() {
        let ticks: Vec<Tick> = (0..30).map(|at| tick(at, u32::from(at >= 10), at as u32)).collect();
        let found: Vec<u32> = during(&ticks, 0.45, 0.75).iter().map(|tick| tick.decided).collect();
        assert_eq!(found, [14, 15, 16]);
        assert!(during(&ticks[..5], 0.0, 9.0).is_empty(), "nothing ever ran");
    }
}
