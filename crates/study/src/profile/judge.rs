//! What a run's record says of the run: settled or not, how independent its parts are, which doubts it raises.
//! Asked after the last response, never while measuring.

use super::StudyError;
use super::figures::times;
use super::watch::{Watch, Watched};
use crate::store::format::{NeighboursRecord, RunFile, Verdict};
use evenkeel_core::Nanos;
use evenkeel_core::bounds::alone::FULL_MIN;
use evenkeel_core::caveat::threshold::GIVEN_UP_MAX;
use evenkeel_core::caveat::{Caveat, FailedBy};
use evenkeel_core::stability::{Second, Stability};
use evenkeel_core::statistics::{BATCHES, BatchMeans};
use evenkeel_lab::load::{Interval, LoadPlan, LoadResult, stretches};
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use evenkeel_sense::cpu::CpuOf;
use evenkeel_sense::neighbours::{NeighbourPlan, NeighbourRecord, Neighbours};
use evenkeel_sense::sampler::{Sampler, SensePlan, SenseRecord};
use evenkeel_site::server::{Control, HangUp, Target, TargetError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Whether the response came to rest, counted from the instants at which requests were due.
pub(super) fn stability(load: &LoadResult) -> Stability {
    Stability::of(&seconds(load, second), load.counts.timed_out + load.counts.unsent)
}

/// The same counted from the instants of sending; `None` where the verdict is no other, so that the generator did not bring it about.
pub(super) fn verdict_sent(load: &LoadResult, due: &Stability) -> Option<Verdict> {
    let lag: f64 = load.intervals.iter().map(|interval| interval.lag_sum.as_secs_f64()).sum();
    let own = (lag / load.response_sum.as_secs_f64().max(1e-9)).min(1.0);
    // Requests are given up by their age, of which this share was ours.
    let given_up = (1.0 - own) * (load.counts.timed_out + load.counts.unsent) as f64;
    let sent = verdict(&Stability::of(&seconds(load, second_sent), given_up as u64));
    (sent != verdict(due)).then_some(sent)
}

fn seconds(load: &LoadResult, second: fn(&[Interval]) -> Second) -> Vec<Second> {
    let in_a_second = (1_000_000_000 / load.interval_length.0.max(1)).max(1) as usize;
    load.intervals.chunks(in_a_second).map(second).collect()
}

/// Without those that were due and not sent: as many as their lags fill of the second.
fn second_sent(intervals: &[Interval]) -> Second {
    let due = second(intervals);
    let lag = intervals.iter().fold(Nanos::ZERO, |sum, interval| sum + interval.lag_sum);
    Second { in_flight: due.in_flight.saturating_sub(lag.as_secs_f64().round() as u64), ..due }
}

/// Intervals added up; what is in flight at the end is in flight at the end of the last.
fn second(intervals: &[Interval]) -> Second {
    Second {
        arrivals: intervals.iter().map(|interval| interval.arrivals).sum(),
        completed: intervals.iter().map(|interval| interval.completed).sum(),
        in_flight: intervals.last().map_or(0, |interval| interval.in_flight),
    }
}

/// The same for the store.
pub(super) fn verdict(stability: &Stability) -> Verdict {
    match stability {
        Stability::Settled => Verdict::Settled,
        Stability::Unstable(_) => Verdict::Unstable,
        Stability::TooShort { .. } => Verdict::TooShort,
    }
}

/// Batch means of the response over the run's intervals, in milliseconds.
pub(super) fn batches(load: &LoadResult) -> Option<BatchMeans> {
    let intervals: Vec<(u64, f64)> = load
        .intervals
        .iter()
        .map(|interval| (interval.arrivals, interval.response_sum.as_millis_f64()))
        .collect();
    BatchMeans::of(&intervals, BATCHES)
}

/// All doubts about a run.
pub(super) fn caveats(
    run: &RunFile,
    load: &LoadResult,
    seen: Option<&Observation>,
    stability: &Stability,
    batches: Option<&BatchMeans>,
) -> Vec<Caveat> {
    let counts = &load.counts;
    let errors = FailedBy::all(&counts.failed, &load.error_texts);
    let [lag, lag_tail, session_wait] = generator_caveats(load, run.stability_sent.is_some());
    let whole = seen.and_then(|seen| seen.sense.whole.as_ref());
    let unseen = whole.is_none().then(|| Caveat::not_available("CPU utilisation of the server"));
    let no_status = seen
        .is_none_or(|seen| seen.server.status.is_none())
        .then(|| Caveat::not_available("status of the server"));
    let theta = run.theta.as_ref().map(|theta| theta.total_percent);
    // In overload, and with full CPUs, any number of sessions is busy; no run in overload is long enough.
    let is_overload = stability.is_unstable();
    let unanswered = Caveat::unanswered(counts.completed, counts.arrivals, theta);
    // A server that has nothing to do is not helped by a lower rate.
    let overload = match unanswered {
        Some(_) => [unanswered, None, None],
        None => [
            Caveat::stability(stability),
            Caveat::lower_bound(counts.timed_out, counts.unsent, counts.arrivals),
            Caveat::backlog(backlog(load), counts.arrivals),
        ],
    };
    // CPU use of the busiest load thread, percent of one CPU: the one that is full makes requests late.
    let busiest = 100.0 * load.cpu_busiest.as_secs_f64() / load.measured.as_secs_f64().max(1e-9);
    let found = [
        lag,
        lag_tail,
        session_wait.filter(|_| !is_overload && theta.is_none_or(|theta| theta < 100.0 * FULL_MIN)),
        Caveat::generator(busiest),
        Caveat::failures(&errors, counts.arrivals),
        Caveat::reconnects(load.reconnects),
        run.steal_percent().and_then(Caveat::steal),
        run.other_load_percent.and_then(Caveat::other_load),
        run.neighbours.as_ref().and_then(throttled),
        batches.and_then(Caveat::batches).filter(|_| !is_overload),
        unseen,
        no_status,
    ];
    overload.into_iter().chain(found).flatten().collect()
}

/// Requests that were in flight at the end beyond those that a server without a queue has, by Little's law from the shortest twentieth.
fn backlog(load: &LoadResult) -> u64 {
    const SHORT: f64 = 0.05;
    let seconds = load.measured.as_secs_f64().max(1e-9);
    let without_queue =
        load.counts.completed as f64 / seconds * load.response.value_at_quantile(SHORT) as f64 / 1e9;
    load.backlog_at_end.saturating_sub(without_queue as u64)
}

/// Requests that the warm-up left over beyond those that are under way on average, by Little's law. A queue that grows has more of them than
/// it began with, and no warm-up helps it.
fn warm_up_backlog(load: &LoadResult) -> u64 {
    let usual = load.response_sum.as_secs_f64() / load.measured.as_secs_f64().max(1e-9);
    load.carried_over.saturating_sub(usual as u64)
}

fn throttled(around: &NeighboursRecord) -> Option<Caveat> {
    let NeighboursRecord { held_by_quota_percent, quota_cpus, slowed_by_heat, clock_percent, .. } = *around;
    Caveat::throttled(held_by_quota_percent, quota_cpus, slowed_by_heat, clock_percent)
}

/// All doubts about a load at whose server nobody looked.
pub fn load_caveats(plan: &LoadPlan, load: &LoadResult) -> Vec<Caveat> {
    let counts = &load.counts;
    let found = [
        Caveat::no_arrivals(counts.arrivals, load.measured).filter(|_| !load.stopped),
        Caveat::lower_bound(counts.timed_out, counts.unsent, counts.arrivals),
        Caveat::failures(&FailedBy::all(&counts.failed, &load.error_texts), counts.arrivals),
        Caveat::warm_up_backlog(warm_up_backlog(load), counts.arrivals),
        Caveat::backlog(backlog(load), counts.arrivals),
        Caveat::reconnects(load.reconnects),
        Caveat::stopped(load.measured, plan.measure),
    ];
    let decides = verdict_sent(load, &stability(load)).is_some();
    generator_caveats(load, decides).into_iter().chain(found).flatten().collect()
}

/// Doubts about how requests came to be sent: too late (`decides` where the verdict depends on it), or after a wait for a session.
/// None where none was answered.
fn generator_caveats(load: &LoadResult, decides: bool) -> [Option<Caveat>; 3] {
    let response = times(&load.response, Some(load.response_sum));
    let Some(response) = response.measured() else { return [const { None }; 3] };
    let nanos = |millis: f64| Nanos::from_secs_f64(millis / 1e3);
    let (lag, tau) = (times(&load.lag, None), nanos(response.mean_ms));
    let lag = lag.measured();
    // Where nothing was answered sessions are held by requests without an answer, and no pool is to blame.
    let wait = times(&load.session_wait, None).mean_over_ms(load.counts.arrivals);
    let wait = wait.filter(|_| load.counts.completed > 0).map(|wait| wait.min(response.mean_ms));
    [
        lag.and_then(|lag| Caveat::lag(nanos(lag.mean_ms), tau, decides)),
        lag.and_then(|lag| Caveat::lag_tail(nanos(lag.p99_ms), nanos(response.p99_ms))),
        wait.and_then(|wait| match load.held_up() {
            (share, longest) if share > 0.5 => Caveat::held_up(nanos(wait), tau, load.sessions_max, longest),
            _ => Caveat::session_wait(nanos(wait), tau, load.sessions_max),
        }),
    ]
}

/// Whether the server kept up, which is less than that its response settled: a run too short for that verdict kept up
/// unless too many requests got no answer.
pub(super) fn kept_up(run: &RunFile) -> bool {
    let given_up = run.counts.arrivals.saturating_sub(run.counts.completed) as f64;
    run.stability != Verdict::Unstable && given_up <= GIVEN_UP_MAX * run.counts.arrivals as f64
}

/// Errors by which a server lets nobody more in: too many connections (1040, 1203), or none taken at all (2002, 2003). That
/// says that it carries no more; any other failure says something about the requests.
pub(crate) const REFUSALS: [u16; 4] = [1040, 1203, 2002, 2003];

/// Whether the server let nobody more in.
pub(super) fn refused(run: &RunFile) -> bool {
    REFUSALS.iter().any(|code| run.counts.failed.get(code).is_some_and(|count| *count > 0))
}

/// An overloaded server has so long after the run to answer the last look.
const LAST_LOOK: Nanos = Nanos::from_secs(5);

pub(super) struct Observer {
    sampler: Sampler,
    server: JoinHandle<Watched>,
    neighbours: Option<Neighbours>,
    /// The way to end a look that the server does not answer.
    line: HangUp,
    stop: Stop,
}

pub(super) struct Observation {
    /// What the machine's sensors saw.
    pub sense: SenseRecord,
    pub server: Watched,
    /// Neighbours, where they can be seen.
    pub neighbours: Option<NeighbourRecord>,
    /// How long the server had left the last look unanswered when that was given up.
    pub silent: Option<Nanos>,
}

impl Observer {
    /// Begins with the warm-up, which lasts the delay of the plan.
    pub(super) fn start(plan: SensePlan, target: &Target, stop: &Stop) -> Result<Self, StudyError> {
        let clock = Clock::start();
        // Connected before the load begins, so that a full server still tells how it is.
        let control = Control::connect_until(target, stop)?;
        let line = control.hang_up();
        let stop = Stop::default();
        let cpus = plan.generator_cpus.clone().unwrap_or_default();
        let SensePlan { server_pid, delay: warm_up, duration: measure, .. } = plan;
        let watch = Watch { clock, stop: stop.clone(), warm_up, measure, cpus, server_pid };
        let server = thread::Builder::new()
            .name("watch".into())
            .spawn(move || watch.run(control))
            .map_err(|source| StudyError::Start { what: "a thread", source })?;
        let neighbours = neighbour_plan(&plan).map(Neighbours::start).transpose()?;
        Ok(Self { sampler: Sampler::start(plan)?, server, neighbours, line, stop })
    }

    /// How long the server had been silent when it was found to answer nobody, in the middle of the run.
    pub(super) fn silence(&self) -> Option<Nanos> {
        match self.line.cut() {
            Some(TargetError::Silent { seconds, .. }) => Some(Nanos::from_secs(seconds)),
            _ => None,
        }
    }

    /// Ends both, early if need be; `stop` is that of the whole study.
    pub(super) fn finish(self, stop: &Stop) -> Observation {
        self.stop.set();
        let clock = Clock::start();
        let mut silent = None;
        while !self.server.is_finished() {
            if silent.is_none() && (stop.is_set() || clock.now() >= LAST_LOOK) {
                silent = self.line.silent_for();
                self.line.hang_up();
            }
            thread::sleep(Duration::from_millis(10));
        }
        let server = self.server.join().unwrap_or_default();
        let neighbours = self.neighbours.map(Neighbours::finish);
        Observation { sense: self.sampler.finish(), server, neighbours, silent }
    }
}

/// What neighbours take of the server's CPUs; nothing where its process is not on this machine.
fn neighbour_plan(plan: &SensePlan) -> Option<NeighbourPlan> {
    let server_pid = plan.server_pid?;
    Some(NeighbourPlan {
        cpus: plan.domain.clone().unwrap_or(CpuOf::Process(server_pid)).cpus()?,
        server_pid,
        generator_cpus: plan.generator_cpus.clone().unwrap_or_default(),
        delay: plan.delay,
        duration: plan.duration,
        stretch: stretches::LENGTH,
    })
}

/// CPU utilisation since the last look, for the progress line.
pub(super) struct Glance {
    domain: Option<CpuOf>,
    clock: Clock,
    last: Option<(Nanos, evenkeel_sense::cpu::CpuReading)>,
    theta_percent: Option<f64>,
}

impl Glance {
    pub(super) fn new(domain: Option<CpuOf>) -> Self {
        Self { domain, clock: Clock::start(), last: None, theta_percent: None }
    }

    /// Utilisation over the last half second or more, percent.
    pub(super) fn theta_percent(&mut self) -> Option<f64> {
        let domain = self.domain.as_ref()?;
        let now = self.clock.now();
        if let Some((at, before)) = &self.last {
            if now - *at < Nanos::from_millis(400) {
                return self.theta_percent;
            }
            let after = domain.read()?;
            self.theta_percent =
                evenkeel_sense::cpu::CpuUse::between(before, &after, now - *at).map(|used| used.total);
            self.last = Some((now, after));
        } else {
            self.last = Some((now, domain.read()?));
        }
        self.theta_percent
    }
}
