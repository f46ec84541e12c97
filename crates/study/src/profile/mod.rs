//! A study: series of cells over arrival rates, each repeated, in blocks.
//!
//! `spec` says what is wanted; `run` walks through the whole: `prepare`, then `rates`, which finds the saturation, then blocks of `attempt`s at
//! runs; `site` brings a server up cold; `measure` makes one run with its observers (`around`, `watch`); `apart` lends server and run to a
//! study with an order of its own; `judge` raises doubts; `cells` and `summary` say what follows. All of it is resumable: what stands in the
//! folder is not measured again.

mod answer;
mod apart;
mod around;
mod attempt;
mod cells;
mod event;
mod figures;
mod judge;
mod length;
mod manifest;
mod measure;
mod monitor;
mod objective;
mod order;
mod pooled;
mod preflight;
mod prepare;
mod rates;
mod run;
mod sentence;
mod sequence;
mod server;
mod site;
mod spec;
mod states;
mod stretch;
mod summary;
mod watch;

use crate::store::format::{FORMAT, PlanFile, ResetRecord, SeriesRecord, SettingsRecord, TargetRecord};
pub(crate) use answer::cpu_ms_per_request;
pub use answer::overload_throughputs;
pub(crate) use apart::{
    Asked, COMMIT_MS, CPU_WAIT_MS, DATA_SYNC_MS, DATA_SYNC_PERCENT, Server, TABLE_LOCK_MS, tables,
};
pub use cells::{standing, stands};
use evenkeel_core::Nanos;
use evenkeel_lab::load::SessionPolicy;
use event::{Notify, tell_sandbox};
pub use event::{RunPlace, StudyError, StudyEvent};
pub use figures::{kinds, orders_per_minute, price_over, times};
pub(crate) use judge::REFUSALS;
pub use judge::load_caveats;
pub use manifest::{plan_record, shapes};
pub use measure::outlived;
pub(crate) use monitor::Monitor;
pub use objective::Unanswered;
pub(crate) use order::cell_of;
pub use order::is_same_rate;
pub use preflight::{announcement, prepared_statements};
pub use prepare::POOL_BYTES_MIN;
pub use run::{OVERHEAD, finished, run, written};
pub use sequence::RUNS_FIRST;
pub use server::{COUNTERS_PER_REQUEST, READ_MS, server_measures};
pub use site::{is_restored, recover, unrestored};
pub use spec::{Budget, PoolSize, Reset, SeriesSpec, ServerSpec, SiteSpec, StudySpec, writes};
pub use summary::{summarise, trust_limits};

/// The study's name in plans and on the command line.
pub const NAME: &str = "profile";

/// The plan of a new study, before any rate is known.
pub fn new_plan(spec: &StudySpec, id: String, created_unix_s: u64, targets: Vec<TargetRecord>) -> PlanFile {
    PlanFile {
        format: FORMAT,
        id,
        kind: spec.kind.clone(),
        created_unix_s,
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        command: spec.command.clone(),
        seed: spec.seed.0,
        settings: settings(spec),
        targets,
        series: spec.series.iter().map(series_record).collect(),
        rate: spec.rate_text.clone(),
        ..PlanFile::default()
    }
}

/// What stays the same in all cells.
pub fn settings(spec: &StudySpec) -> SettingsRecord {
    let (name, max) = match spec.sessions {
        SessionPolicy::Pooled { max } => ("pooled", max),
        SessionPolicy::PerRequest { max } => ("per-request", max),
    };
    SettingsRecord {
        repeats: spec.repeats,
        duration_s: spec.duration.as_secs_f64(),
        warm_up_s: spec.warm_up.as_secs_f64(),
        timeout_s: spec.timeout.as_secs_f64(),
        sessions: format!("{name}:{max}"),
        reset: match &spec.reset {
            Reset::Full if spec.restores() => ResetRecord::Restore,
            Reset::Full => ResetRecord::Restart,
            Reset::Command(_) => ResetRecord::Command,
            Reset::Nothing => ResetRecord::Nothing,
        },
        objective_p95_ms: spec.objective_p95.map(Nanos::as_millis_f64),
        generator_cpus: spec.generator_cpus.clone(),
        retries: spec.retries,
        whole_sweep: spec.whole_sweep,
        longest_s: (spec.longest > spec.duration).then(|| spec.longest.as_secs_f64()),
        until_percent: spec.budget.and_then(|budget| budget.until).map(|until| 100.0 * until),
        within_s: spec.budget.and_then(|budget| budget.within).map(Nanos::as_secs_f64),
    }
}

fn series_record(series: &SeriesSpec) -> SeriesRecord {
    let (pool_bytes, pool_percent) = match series.pool {
        Some(PoolSize::Bytes(bytes)) => (Some(bytes), None),
        Some(PoolSize::Percent(percent)) => (None, Some(percent)),
        None => (None, None),
    };
    SeriesRecord {
        label: series.label.clone(),
        target: series.target,
        workload: series.workload.name().to_owned(),
        writes: series.writes(),
        pool_bytes,
        pool_percent,
        layout: series.layout.clone(),
        levels: series.levels.clone(),
    }
}
