//! Starting the threads, watching them, adding up what they bring.

use super::progress::{Gauges, LoadPhase, LoadProgress, Look};
use super::request_log::{LogSender, RequestLog};
use super::result::{KindResult, LoadResult, Times};
use super::schedule::{ArrivalPlan, LoadError, LoadPlan, Result, SessionPolicy};
use super::together::Together;
use super::worker::{Shared, Worker, share};
use super::written::Script;
use super::{schedule, stretches, tls};
use evenkeel_core::Nanos;
use evenkeel_os::Stop;
use evenkeel_os::clock::monotonic;
use evenkeel_os::cpu::Affinity;
use evenkeel_os::{Endpoint, wake_promptly};
use evenkeel_site::server::{Address, TlsMode};
use evenkeel_wire::{Account, Channel, Encryption};
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

/// Sessions that a thread opens before an open load begins, if it may have so many: a burst of arrivals in
/// the first moments then finds them. The pool grows by itself where that is not enough.
const FIRST_SESSIONS: usize = 16;
/// Between the moment when all threads are ready and the start of the load.
const LEAD: Nanos = Nanos::from_millis(5);
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// When a load begins that awaits nobody.
fn soon() -> Option<Nanos> {
    Some(monotonic() + LEAD)
}

/// Runs one load that begins together with others; each of them runs on a thread of its own.
/// Errors: as [`run`]. Where it cannot begin, the others do not either.
pub fn run_together(
    plan: &LoadPlan,
    together: &Together,
    stop: &Stop,
    progress: &mut dyn FnMut(LoadProgress),
) -> Result<LoadResult> {
    let outcome = begin(plan, Some(together), stop, progress);
    if outcome.is_err() {
        together.call_off();
    }
    outcome
}

/// Runs one load and gives what it brought. Blocks until the drain is over or `stop` is set; `progress` is
/// called about twice a second on the calling thread.
/// Errors: whatever keeps the load from starting: an impossible plan, a server that does not answer or does not let
/// us in. Once it runs, errors are counted in the result.
pub fn run(plan: &LoadPlan, stop: &Stop, progress: &mut dyn FnMut(LoadProgress)) -> Result<LoadResult> {
    begin(plan, None, stop, progress)
}

fn begin(
    plan: &LoadPlan,
    together: Option<&Together>,
    stop: &Stop,
    progress: &mut dyn FnMut(LoadProgress),
) -> Result<LoadResult> {
    let shared = Shared::new(plan, stop)?;
    let log = plan.request_log.as_deref();
    let log = log.map(|path| RequestLog::start(path, plan.workload.kinds())).transpose()?;
    let gauges: Vec<Gauges> = (0..shared.threads).map(|_| Gauges::default()).collect();
    let result = std::thread::scope(|scope| {
        let (ready_sender, ready) = mpsc::channel();
        let mut crew = Crew { starts: Vec::new(), threads: Vec::new(), ready, gauges: &gauges };
        for (index, gauges) in gauges.iter().enumerate() {
            let (sender, start) = mpsc::channel();
            let (shared, ready) = (&shared, ready_sender.clone());
            let log = log.as_ref().map(RequestLog::sender);
            let body = move || work(shared, index, gauges, log, &ready, &start);
            let thread = std::thread::Builder::new().name(format!("load {index}")).spawn_scoped(scope, body);
            crew.threads.push(thread.map_err(LoadError::cannot("start a thread"))?);
            crew.starts.push(sender);
        }
        drop(ready_sender);
        crew.command(plan, &|| together.map_or_else(soon, |together| together.start(stop)), progress)
    });
    if let Some(log) = log {
        log.finish()?;
    }
    result
}

fn work(
    shared: &Shared<'_>,
    index: usize,
    gauges: &Gauges,
    log: Option<LogSender>,
    ready: &Sender<bool>,
    start: &Receiver<Nanos>,
) -> Result<Option<LoadResult>> {
    let prepared = prepare(shared, index, gauges, log);
    // The commander waits for every thread and never leaves before them.
    let _ = ready.send(prepared.is_ok());
    let worker = prepared?;
    match start.recv() {
        Ok(start) => worker.run(start).map(Some),
        // Another thread could not start.
        Err(_) => Ok(None),
    }
}

fn prepare<'a>(
    shared: &'a Shared<'a>,
    index: usize,
    gauges: &'a Gauges,
    log: Option<LogSender>,
) -> Result<Worker<'a>> {
    let plan = shared.plan;
    wake_promptly();
    if !plan.cpus.is_empty() {
        let cpu = plan.cpus[index % plan.cpus.len()];
        let hint = "name CPUs by --generator-cpus that this process may use; `taskset -cp $$` lists them";
        let pinned = Affinity::of(u32::try_from(cpu)).apply();
        pinned.map_err(LoadError::cannot_but(format!("run on CPU {cpu}"), Some(hint)))?;
    }
    let worker = Worker::new(shared, index, gauges, log);
    let mut worker = worker.map_err(LoadError::cannot("create an epoll"))?;
    match (plan.sessions, &plan.arrivals) {
        (SessionPolicy::PerRequest { .. }, _) => {
            worker.open_first(1)?;
            worker.close_first();
        }
        (SessionPolicy::Pooled { max }, ArrivalPlan::Closed { clients, .. }) => {
            worker.open_first(share(max.min(*clients) as usize, index, shared.threads))?;
        }
        (SessionPolicy::Pooled { max }, _) => {
            worker.open_first(share(max as usize, index, shared.threads).min(FIRST_SESSIONS))?;
        }
    }
    Ok(worker)
}

impl<'a> Shared<'a> {
    fn new(plan: &'a LoadPlan, stop: &'a Stop) -> Result<Self> {
        let max = plan.sessions.max();
        let mut threads = plan.threads.min(max as usize);
        if let ArrivalPlan::Closed { clients, .. } = plan.arrivals {
            threads = threads.min(clients as usize);
            require(clients > 0, "clients")?;
        }
        require(max > 0, "sessions")?;
        require(plan.threads > 0, "threads")?;
        require(plan.measure > Nanos::ZERO, "measured phase")?;
        require(plan.timeout > Nanos::ZERO, "time until a request is given up")?;
        require(!plan.workload.statements().is_empty(), "statements")?;
        schedule::process(plan)?;
        let target = &plan.target;
        let local = matches!(target.address, Address::Unix(_));
        let encryption = match target.tls {
            TlsMode::Disabled => Encryption::Never,
            // Nobody listens on a unix socket.
            TlsMode::Preferred if local => Encryption::Never,
            TlsMode::Preferred => Encryption::IfOffered,
            TlsMode::Required | TlsMode::VerifyIdentity => Encryption::Always,
        };
        let statements = plan.workload.statements();
        Ok(Self {
            plan,
            stop,
            scripts: statements.iter().map(|statement| Script::new(statement, plan.protocol)).collect(),
            endpoints: Endpoint::resolve(&target.address)
                .map_err(LoadError::cannot(format!("resolve {}", target.address)))?,
            endpoint: AtomicUsize::new(0),
            tls: tls::setup(target)?,
            account: Account {
                user: target.user.clone(),
                password: target.password.clone().unwrap_or_default(),
                database: target.database.clone(),
            },
            channel: if local { Channel::Local } else { Channel::Network },
            encryption,
            threads,
        })
    }
}

fn require(holds: bool, what: &'static str) -> Result<()> {
    if holds { Ok(()) } else { Err(LoadError::Nothing(what)) }
}

type Outcome = Result<Option<LoadResult>>;

/// The threads of a run, from the point of view of the one that started them.
struct Crew<'scope, 'a> {
    starts: Vec<Sender<Nanos>>,
    threads: Vec<ScopedJoinHandle<'scope, Outcome>>,
    ready: Receiver<bool>,
    gauges: &'a [Gauges],
}

impl Crew<'_, '_> {
    fn command(
        mut self,
        plan: &LoadPlan,
        agreed: &dyn Fn() -> Option<Nanos>,
        progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<LoadResult> {
        let mut look = Look::default();
        let mut ready = 0;
        while ready < self.threads.len() {
            match self.ready.recv_timeout(LOOK_EVERY) {
                Ok(true) => ready += 1,
                Ok(false) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    progress(look.look(self.gauges, Nanos::ZERO, LoadPhase::Opening));
                }
            }
        }
        let starts = std::mem::take(&mut self.starts);
        let start = if ready == self.threads.len() { agreed() } else { None };
        if let Some(start) = start {
            // A thread that is gone tells why when it is joined.
            for sender in &starts {
                let _ = sender.send(start);
            }
        }
        drop(starts);
        self.watch(plan, start.unwrap_or_else(monotonic), &mut look, progress);
        self.join()
    }

    /// Shows the progress until every thread has ended, which is when all ends of `ready` are gone.
    fn watch(&self, plan: &LoadPlan, start: Nanos, look: &mut Look, progress: &mut dyn FnMut(LoadProgress)) {
        while self.ready.recv_timeout(LOOK_EVERY) != Err(RecvTimeoutError::Disconnected) {
            let elapsed = monotonic() - start;
            let phase = match elapsed {
                elapsed if elapsed < plan.warm_up => LoadPhase::WarmUp,
                elapsed if elapsed < plan.warm_up + plan.measure => LoadPhase::Measure,
                _ => LoadPhase::Drain,
            };
            progress(look.look(self.gauges, elapsed, phase));
        }
    }

    fn join(self) -> Result<LoadResult> {
        let joined = |thread: ScopedJoinHandle<'_, Outcome>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        let outcomes: Vec<Outcome> = self.threads.into_iter().map(joined).collect();
        let parts: Vec<Option<LoadResult>> = outcomes.into_iter().collect::<Result<_, _>>()?;
        let total = parts.into_iter().flatten().reduce(|mut total, part| {
            add(&mut total, &part);
            total
        });
        total.map(settle).ok_or(LoadError::CalledOff)
    }
}

fn add(total: &mut LoadResult, part: &LoadResult) {
    total.counts.add(&part.counts);
    total.measured = total.measured.max(part.measured);
    total.stopped |= part.stopped;
    total.response_sum += part.response_sum;
    stretches::add_batches(&mut total.batches, &part.batches);
    stretches::add_stretches(&mut total.stretches, &part.stretches);
    let histograms = [
        (&mut total.response, &part.response),
        (&mut total.service, &part.service),
        (&mut total.first_byte, &part.first_byte),
        (&mut total.lag, &part.lag),
        (&mut total.session_wait, &part.session_wait),
    ];
    histograms.into_iter().for_each(|(total, part)| merge(total, part));
    for (silence, waited) in &part.silences {
        *total.silences.entry(*silence).or_default() += *waited;
    }
    add_intervals(total, part);
    let kinds = total.kinds.iter_mut().zip(&part.kinds);
    let statements = total.statements.iter_mut().zip(&part.statements);
    let steps = total.steps.iter_mut().zip(&part.steps);
    for (total, part) in kinds.chain(statements).chain(steps) {
        add_kind(total, part);
    }
    total.rolled_back += part.rolled_back;
    total.tried_again += part.tried_again;
    for (&code, text) in &part.error_texts {
        total.error_texts.entry(code).or_insert_with(|| text.clone());
    }
    total.sessions_max += part.sessions_max;
    total.reconnects += part.reconnects;
    total.heard += part.heard;
    total.carried_over += part.carried_over;
    total.cpu += part.cpu;
    total.cpu_busiest = total.cpu_busiest.max(part.cpu_busiest);
    total.context_switches += part.context_switches;
    total.parts.add(&part.parts);
    total.written.add(&part.written);
}

fn add_intervals(total: &mut LoadResult, part: &LoadResult) {
    let known = total.intervals.len().min(part.intervals.len());
    for (total, part) in total.intervals.iter_mut().zip(&part.intervals) {
        total.arrivals += part.arrivals;
        total.completed += part.completed;
        total.lost += part.lost;
        total.response_sum += part.response_sum;
        total.responses += part.responses;
        total.lag_max = total.lag_max.max(part.lag_max);
        total.lag_sum += part.lag_sum;
    }
    total.intervals.extend_from_slice(&part.intervals[known..]);
}

fn add_kind(total: &mut KindResult, part: &KindResult) {
    total.completed += part.completed;
    total.lost += part.lost;
    merge(&mut total.response, &part.response);
}

fn merge(total: &mut Times, part: &Times) {
    total.add(part).expect("all histograms have the same bounds");
}

/// Fills in what only the whole run has: how many were in flight at the end of each interval.
fn settle(mut total: LoadResult) -> LoadResult {
    let mut in_flight = total.carried_over;
    for interval in &mut total.intervals {
        in_flight = (in_flight + interval.arrivals).saturating_sub(interval.completed + interval.lost);
        interval.in_flight = in_flight;
    }
    total.backlog_at_end = in_flight;
    total
}
