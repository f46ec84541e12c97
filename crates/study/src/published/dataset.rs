//! Data sets on the private servers of studies, and what is asked of them.

use super::scratch::Workplace;
use super::{PublishedError, Result, While};
use crate::harness::{Event, Notify};
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_lab::data::{DataSet, DataSpec, Stamp, Via, populate_own};
use evenkeel_lab::load::{ArrivalPlan, LoadError, LoadPhase, LoadPlan, LoadResult, Protocol, SessionPolicy};
use evenkeel_lab::workload::user::UserWorkload;
use evenkeel_lab::workload::{Database, Workload};
use evenkeel_lab::{load, workload};
use evenkeel_os::Stop;
use evenkeel_site::server::{Control, Target};
use std::sync::Arc;

/// More threads than this do not fill a private server faster.
const THREADS_MAX: usize = 8;

/// Fills the database of a target with a data set that runs will write to; the connection that says so to the server.
pub(crate) fn fill(
    workplace: &Workplace<'_>,
    target: &Target,
    set: impl Into<DataSet>,
    seed: u64,
    tell: Notify<'_>,
) -> Result<Control> {
    let threads = std::thread::available_parallelism().map_or(1, |cpus| cpus.get().min(THREADS_MAX));
    let spec = DataSpec { set: set.into(), seed: Seed(seed), today: None, via: Via::Load, threads };
    let mut filled = |progress| tell(Event::Data(progress));
    populate_own(target, &spec, workplace.stop, &mut filled)?;
    let mut control = Control::connect(target)?;
    Stamp::mark_written(&mut control)?;
    Ok(control)
}

/// A request of a closed client that takes longer is given up.
const TIMEOUT: Nanos = Nanos::from_secs(60);
/// After the measured time, what is under way is awaited for this long at most; it counts with the age it reached.
const DRAIN: Nanos = Nanos::from_secs(10);

/// A load of closed clients that do not think: seconds of warm-up, and seconds that are measured.
pub(crate) fn closed(
    (target, workload): (Target, Arc<dyn Workload>),
    clients: u32,
    (warm_up_s, measure_s): (f64, f64),
    seed: Seed,
) -> LoadPlan {
    LoadPlan {
        target,
        workload,
        arrivals: ArrivalPlan::Closed { clients, think: Some(Nanos::ZERO) },
        warm_up: Nanos::from_secs_f64(warm_up_s),
        warm_up_max: None,
        measure: Nanos::from_secs_f64(measure_s),
        drain: DRAIN,
        timeout: TIMEOUT,
        seed,
        sessions: SessionPolicy::Pooled { max: clients },
        protocol: Protocol::Text,
        threads: 1,
        cpus: Vec::new(),
        busy_poll: false,
        request_log: None,
        parts: None,
    }
}

/// Runs a load; once its sessions are open, `begun` is told how long it has run.
pub(crate) fn begun(
    plan: &LoadPlan,
    stop: &Stop,
    begun: impl FnOnce(Nanos),
) -> Result<LoadResult, LoadError> {
    let mut begun = Some(begun);
    load::run(plan, stop, &mut |progress| {
        if progress.phase != LoadPhase::Opening
            && let Some(begun) = begun.take()
        {
            begun(progress.elapsed);
        }
    })
}

/// A workload of a file of the user's, on the tables of a target.
pub(crate) fn workload_of_file(
    workplace: &Workplace<'_>,
    (file, text): (&str, &str),
    target: &Target,
) -> Result<Arc<dyn Workload>> {
    let mut control = Control::connect_until(target, workplace.stop)?;
    let definition = workplace.program.workload(file, text)?;
    let workload = UserWorkload::new(&definition, &mut control);
    Ok(Arc::new(workload.doing(|| format!("reading {file}"))?))
}

/// A workload by its name on what the database of a target holds now.
pub(crate) fn workload(name: &str, target: &Target) -> Result<Arc<dyn Workload>> {
    let mut control = Control::connect(target)?;
    let stamp = Stamp::read(&mut control)?;
    let stamp =
        stamp.ok_or_else(|| PublishedError::wrong(format!("{target} holds no data set of Evenkeel")))?;
    let database = Database::read(stamp.set, &mut control)?;
    workload::find(name, database).doing(|| format!("looking for the workload {name}"))
}
