//! One run: load with its observers, then its figures and caveats.

use super::around::Eyes;
use super::figures::{kinds, orders_per_minute, parts_record, times};
use super::judge::Observation;
use super::length::Phases;
use super::run::Ledger;
use super::site::Ready;
use super::spec::StudySpec;
use super::{StudyError, StudyEvent, around, judge, pooled, preflight, server, stretch};
use crate::store::Series;
use crate::store::format::{CellRecord, CpuRecord, DomainRecord, FORMAT, RunFile, SensedBy};
use evenkeel_core::Nanos;
use evenkeel_core::caveat::Caveat;
use evenkeel_core::random::Seed;
use evenkeel_lab::load::{
    self, ArrivalPlan, LoadPlan, LoadProgress, LoadResult, PartsPlan, SessionPolicy, Together,
};
use evenkeel_lab::workload::Workload;
use evenkeel_os::Stop;
use evenkeel_os::clock::{Clock, unix_time};
use evenkeel_sense::cpu::CpuUse;
use evenkeel_sense::sampler::SenseSample;
use evenkeel_site::elsewhere;
use evenkeel_site::server::{Control, Target, TargetError};
use std::collections::BTreeMap;
use std::sync::Arc;

/// After the last arrival, what is under way is awaited for this long at most; a queue that is longer is no
/// queue of a stable server, and its requests count with the age they reached.
const DRAIN_MAX: Nanos = Nanos::from_secs(5);

/// CPU time of the server in a run over the requests that it completed, microseconds.
const SERVER_CPU: &str = "server_cpu_us_per_request";

pub(super) struct RunOrder<'a> {
    pub cell: &'a CellRecord,
    pub repeat: u32,
    pub attempt: u32,
    pub order: u32,
    pub workload: Arc<dyn Workload>,
    pub arrivals: ArrivalPlan,
    pub phases: Phases,
    /// Whether the server was started for this run.
    pub is_cold: bool,
    /// Other loads that it begins together with.
    pub together: Option<Together>,
    /// Who counts what it writes, where somebody has to.
    pub ledger: Option<Ledger<'a>>,
}

impl RunOrder<'_> {
    /// The seed of this run: its own for each cell, repeat and attempt, so that no two runs ask the same rows.
    fn seed(&self, spec: &StudySpec) -> Seed {
        let seed = spec.seed.child("run").numbered(u64::from(self.cell.id)).numbered(u64::from(self.repeat));
        if self.attempt > 1 { seed.child("attempt").numbered(u64::from(self.attempt)) } else { seed }
    }
}

pub(super) struct Measured {
    pub run: RunFile,
    pub load: LoadResult,
    pub sense: Series,
}

/// Runs the load on a server that is up and says what it brought; `None` where somebody asked to stop.
pub(super) fn measure(
    spec: &StudySpec,
    order: &RunOrder<'_>,
    ready: &Ready,
    stop: &Stop,
    tell: &mut dyn FnMut(StudyEvent),
) -> Result<Option<Measured>, StudyError> {
    let mut control = Control::connect_until(&ready.target, stop)?;
    let (sessions, limit) =
        preflight::sessions(spec, order.workload.as_ref(), &mut control, ready.of_others)?;
    drop(control);
    let plan = load_plan(spec, order, ready, sessions);
    let started_unix_s = unix_time().as_secs();
    let mut eyes = Eyes::new(spec, order.phases, ready, stop);
    let mut look = |progress: LoadProgress| {
        let theta_percent = eyes.look(&progress);
        tell(StudyEvent::Load { load: progress, theta_percent });
    };
    if let Some(ledger) = &order.ledger {
        ledger.begins()?;
    }
    let load = match &order.together {
        Some(together) => load::run_together(&plan, together, stop, &mut look),
        None => load::run(&plan, stop, &mut look),
    };
    if let (Some(ledger), Ok(load)) = (&order.ledger, &load) {
        ledger.ends(&load.written)?;
    }
    let Eyes { observer, watch, failed, .. } = eyes;
    let mut observation = observer.map(|observer| observer.finish(stop));
    let sense = observation.as_mut().map(|seen| &mut seen.sense);
    let sight = watch.map(|watch| watch.finish(sense));
    if let Some(error) = failed {
        return Err(error);
    }
    let load = load?;
    if load.stopped || stop.is_set() {
        return Ok(None);
    }
    if let Some(silent) = observation.as_ref().and_then(|seen| seen.silent) {
        answers(&ready.target, silent, stop)?;
    }
    // A run in which the server died says nothing of what it carries.
    outlived(&load, &ready.target, stop)?;
    let mut run = figures(spec, order, &load, observation.as_ref());
    add_sight(&mut run, sight, observation.as_ref());
    let status = observation.as_ref().and_then(|seen| seen.server.status.as_ref());
    run.status_stretch = status.map(|(status, of)| stretch::record(&plan, &load, status, of));
    run.started_unix_s = started_unix_s;
    if let Some(limit) = limit.filter(|_| few_connections(&run, sessions)) {
        run.caveats.push(Caveat::few_connections(sessions.max(), &limit, spec.kind == super::NAME));
    }
    let row = |sample: &SenseSample| {
        (sample.at.as_secs_f64(), SENSE.iter().map(|(_, of)| of(sample)).collect::<Vec<_>>())
    };
    let rows = observation.iter().flat_map(|seen| &seen.sense.samples).map(row).collect();
    let sense = Series { columns: SENSE.map(|(name, _)| name.to_owned()).to_vec(), rows };
    Ok(Some(Measured { run, load, sense }))
}

/// Whether a rate that was not carried had all connections at work, while CPUs of the server were idle as far as known.
fn few_connections(run: &RunFile, sessions: SessionPolicy) -> bool {
    const BUSY_PERCENT: f64 = 80.0;
    const WANTED_PERCENT: f64 = 25.0;
    // On one machine with the server the generator takes a part of the same CPUs.
    let is_beside = run.sensed.as_ref().is_none_or(|sensed| sensed.by == SensedBy::ThisMachine);
    let generator = run.generator_cpu_percent.filter(|_| is_beside).unwrap_or(0.0);
    let taken = run.neighbours.as_ref().map_or(0.0, |neighbours| neighbours.taken_percent);
    let is_busy = run.theta.as_ref().is_some_and(|theta| {
        // Neighbours do not hold up a server that asks for less.
        let taken = if theta.total_percent < WANTED_PERCENT { 0.0 } else { taken };
        theta.total_percent + generator / theta.cpus.max(1.0) + taken > BUSY_PERCENT
    });
    run.sessions_max >= sessions.max() && !judge::kept_up(run) && !is_busy
}

/// Notes who saw the server, what only he knows, and what he should have seen and has not.
fn add_sight(run: &mut RunFile, sight: Option<elsewhere::Sight>, seen: Option<&Observation>) {
    let whole = seen.and_then(|seen| seen.sense.whole.as_ref());
    let sight = sight.unwrap_or_else(|| elsewhere::Sight::from_here(whole));
    let requests_per_s = run.throughput_per_s;
    if let Some(cpu_per_s) = sight.cpu_per_s.filter(|_| requests_per_s > 0.0) {
        run.sense.insert(SERVER_CPU.to_owned(), 1e6 * cpu_per_s / requests_per_s);
    }
    if sight.is_far {
        run.neighbours = whole.and_then(around::of_machine);
    }
    let sensed = sight.sensed;
    if let Some(missing) = sensed.missing.as_ref().filter(|_| run.theta.is_none() && whole.is_some()) {
        let what = format!("the CPU use of the server: its source ({}) {missing}", sensed.by);
        run.caveats.push(Caveat::not_available(&what));
    }
    run.sensed = Some(sensed);
}

/// A connection that was refused, is gone, or broke while a statement ran (CR_CONN_HOST_ERROR, CR_SERVER_GONE_ERROR, CR_SERVER_LOST).
const LOST: [u16; 3] = [2003, 2006, 2013];

/// Looks for the server after a load that lost connections to it.
/// Errors: nobody gets in there any more, or somebody asked to stop.
pub fn outlived(load: &LoadResult, target: &Target, stop: &Stop) -> Result<(), StudyError> {
    let has_lost = load.error_texts.keys().any(|code| LOST.contains(code));
    if has_lost { answers(target, Nanos::ZERO, stop) } else { Ok(()) }
}

/// A run whose last look was not answered is one of a slow server, if that still lets anybody in; otherwise it is none.
fn answers(target: &Target, silent: Nanos, stop: &Stop) -> Result<(), StudyError> {
    let clock = Clock::start();
    match Control::connect_until(target, stop) {
        Err(TargetError::Timeout { address, .. }) => {
            Err(TargetError::silent(address, silent + clock.now()).into())
        }
        connected => Ok(connected.map(drop)?),
    }
}

/// What arrives in 20 ms: a server that has just started falls behind at rates that it carries once it is warm.
fn in_flight_while_cold(arrivals: &ArrivalPlan) -> Option<u32> {
    const S: f64 = 0.02;
    const LEAST: u32 = 8;
    match arrivals {
        ArrivalPlan::Poisson(rate) | ArrivalPlan::Constant(rate) => Some(LEAST.max((S * rate) as u32)),
        ArrivalPlan::Closed { .. } => None,
    }
}

fn load_plan(spec: &StudySpec, order: &RunOrder<'_>, ready: &Ready, sessions: SessionPolicy) -> LoadPlan {
    let threads = match spec.generator_cpus.len() {
        0 => std::thread::available_parallelism().map_or(1, |cpus| cpus.get().div_ceil(2)),
        pinned => pinned,
    };
    LoadPlan {
        target: ready.target.clone(),
        workload: Arc::clone(&order.workload),
        arrivals: order.arrivals.clone(),
        warm_up: order.phases.warm_up,
        warm_up_max: in_flight_while_cold(&order.arrivals).filter(|_| order.is_cold),
        measure: order.phases.measure,
        drain: spec.timeout.min(DRAIN_MAX),
        timeout: spec.timeout,
        seed: order.seed(spec),
        sessions,
        protocol: spec.protocol,
        threads,
        cpus: spec.generator_cpus.clone(),
        busy_poll: false,
        request_log: None,
        parts: spec.parts.map(|parts| PartsPlan { server_pid: ready.server_pid, ..parts }),
    }
}

fn figures(spec: &StudySpec, order: &RunOrder<'_>, load: &LoadResult, seen: Option<&Observation>) -> RunFile {
    let whole = seen.and_then(|seen| seen.sense.whole.as_ref());
    let measured_s = load.measured.as_secs_f64().max(1e-9);
    let batches = judge::batches(load);
    let stability = judge::stability(load);
    let mut run = RunFile {
        format: FORMAT,
        cell: order.cell.id,
        repeat: order.repeat,
        attempt: order.attempt,
        order: order.order,
        seed: order.seed(spec).0,
        measured_s,
        counts: load.counts.clone(),
        throughput_per_s: load.intervals.iter().map(|interval| interval.completed).sum::<u64>() as f64
            / measured_s,
        response: times(&load.response, Some(load.response_sum)),
        lower_bound: load.counts.timed_out + load.counts.unsent > 0,
        service: times(&load.service, None),
        first_byte: times(&load.first_byte, None),
        lag: times(&load.lag, None),
        session_wait: times(&load.session_wait, None),
        tau_batch_se_ms: batches.as_ref().and_then(|batches| batches.mean.standard_error()),
        batch_autocorrelation: batches.as_ref().and_then(|batches| batches.lag1),
        stability: judge::verdict(&stability),
        stability_sent: judge::verdict_sent(load, &stability),
        backlog_at_end: load.backlog_at_end,
        sessions_max: load.sessions_max,
        reconnects: load.reconnects,
        theta: seen.and_then(cpu_record),
        generator_cpu_percent: Some(100.0 * load.cpu.as_secs_f64() / measured_s),
        other_load_percent: whole.and_then(|whole| whole.other_load),
        generator_switches_per_request: stretch::completed(load, Nanos::ZERO, load.measured)
            .map(|completed| load.context_switches as f64 / completed),
        sense: whole.map(|whole| sense_values(whole, load)).unwrap_or_default(),
        status: seen
            .and_then(|seen| seen.server.status.as_ref())
            .map(|(status, _)| status_values(status))
            .unwrap_or_default(),
        mu_ms: seen.and_then(|seen| seen.server.mu_ms.clone()),
        gauges: seen.map(|seen| seen.server.gauges.clone()).unwrap_or_default(),
        kinds: kinds(&load.kinds),
        statements: kinds(&load.statements),
        steps: kinds(&load.steps),
        orders_per_minute: orders_per_minute(load),
        rolled_back: load.rolled_back,
        tried_again: load.tried_again,
        batches: load.batches.iter().map(Into::into).collect(),
        neighbours: seen.and_then(|seen| around::neighbours(load, seen.neighbours.as_ref()?)),
        error_texts: load.error_texts.clone(),
        probe_wait_ms: seen.and_then(|seen| seen.server.probe_wait_ms.clone()),
        parts: spec.parts.as_ref().map(|plan| parts_record(plan, &load.parts)),
        // What only the whole of it says comes later.
        ..RunFile::default()
    };
    run.relaxations = pooled::relaxations(&run);
    run.caveats = judge::caveats(&run, load, seen, &stability, batches.as_ref());
    run
}

/// Theta of a sample: what the server itself used of the CPUs that it may use. Where its process cannot be seen,
/// what its domain used.
fn theta(sample: &SenseSample) -> Option<&CpuUse> {
    sample.server.as_ref().or(sample.domain.as_ref())
}

/// Theta of the run. Waiting for disks and stolen time are known of CPUs alone, so they are those of the CPUs that
/// the server may use.
fn cpu_record(seen: &Observation) -> Option<CpuRecord> {
    let whole = seen.sense.whole.as_ref()?;
    let used = theta(whole)?;
    let around = whole.domain.as_ref();
    Some(CpuRecord {
        domain: if whole.server.is_some() { DomainRecord::Process } else { DomainRecord::Host },
        cpus: used.capacity,
        total_percent: used.total,
        user_percent: used.user.unwrap_or_default() + used.nice.unwrap_or_default(),
        system_percent: used.system.unwrap_or_default() + used.irq.unwrap_or_default(),
        iowait_percent: around.and_then(|around| around.iowait),
        steal_percent: around.and_then(|around| around.steal),
        samples: u32::try_from(seen.sense.samples.len()).unwrap_or(u32::MAX),
    })
}

fn status_values(status: &evenkeel_sense::status::StatusUse) -> BTreeMap<String, f64> {
    let counters = status.counters.iter().map(|(name, value)| ((*name).to_owned(), *value as f64));
    let gauges = status.gauges.iter().map(|(name, value)| ((*name).to_owned(), *value as f64));
    counters.chain(gauges).collect()
}

/// Further measures by name with their unit; what is not available is not there.
fn sense_values(whole: &SenseSample, load: &LoadResult) -> BTreeMap<String, f64> {
    let requests = stretch::completed(load, whole.at - whole.duration, whole.at);
    let each = |count: f64| requests.map(|requests| count / requests);
    let busy_percent = |busy: Nanos| 100.0 * busy.as_secs_f64() / whole.duration.as_secs_f64().max(1e-9);
    // All of a machine, where nobody sees the server's own process there.
    let domain = whole.domain.as_ref().filter(|_| whole.server.is_none());
    let values = [
        (SERVER_CPU, whole.server.as_ref().and_then(|used| each(used.busy.as_micros_f64()))),
        ("domain_cpu_us_per_request", domain.and_then(|used| each(used.busy.as_micros_f64()))),
        ("host_steal_percent", whole.host.as_ref().and_then(|used| used.steal)),
        ("psi_cpu_some_percent", whole.pressure.get("cpu_some").copied()),
        ("psi_memory_full_percent", whole.pressure.get("memory_full").copied()),
        ("psi_io_some_percent", whole.pressure.get("io_some").copied()),
        ("psi_io_full_percent", whole.pressure.get("io_full").copied()),
        ("disk_busy_percent", whole.device_io.as_ref().map(|io| busy_percent(io.busy))),
        ("server_switches_per_request", whole.switches.and_then(|count| each(count as f64))),
    ];
    let known = values.into_iter().filter_map(|(name, value)| Some((name, value?)));
    known.chain(server::disk_values(whole, requests)).map(|(name, value)| (name.to_owned(), value)).collect()
}

type OfSample = fn(&SenseSample) -> Option<f64>;

/// Columns of `sense.csv`.
const SENSE: [(&str, OfSample); 10] = [
    ("theta_percent", |sample| Some(theta(sample)?.total)),
    ("user_percent", |sample| theta(sample)?.user),
    ("system_percent", |sample| theta(sample)?.system),
    ("iowait_percent", |sample| sample.domain.as_ref()?.iowait),
    ("steal_percent", |sample| sample.domain.as_ref()?.steal),
    ("domain_percent", |sample| Some(sample.domain.as_ref()?.total)),
    ("generator_percent", |sample| Some(sample.generator_cpus.as_ref()?.total)),
    ("psi_cpu_some_percent", |sample| sample.pressure.get("cpu_some").copied()),
    ("psi_io_some_percent", |sample| sample.pressure.get("io_some").copied()),
    ("other_load_percent", |sample| sample.other_load),
];

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_lab::load::nothing_measured;
    use std::net::TcpListener;

    #[test]
    fn a_server_to_which_connections_were_lost_is_looked_for_after_the_load() {
        // Nobody listens at a port that was given back.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let target = Target::parse(&format!("mysql://a@127.0.0.1:{port}/shop")).unwrap();
        let mut load = nothing_measured();
        assert!(outlived(&load, &target, &Stop::default()).is_ok());
        load.error_texts.insert(2013, "lost connection".to_owned());
        let error = outlived(&load, &target, &Stop::default()).unwrap_err();
        assert!(matches!(error, StudyError::Target(TargetError::Refused { .. })), "{error}");
    }
}
