//! The plan of a study as it stands in its folder.

use super::spec::{PoolSize, Reset, SeriesSpec, StudySpec};
use crate::store::format::{FORMAT, PlanFile, ResetRecord, SeriesRecord, SettingsRecord, TargetRecord};
use evenkeel_core::Nanos;
use evenkeel_lab::load::SessionPolicy;

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
        cells: Vec::new(),
        rates_known: false,
        probes: Vec::new(),
        sweeps: Vec::new(),
        ended: None,
        file_crc32: None,
        workload_files: Vec::new(),
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
    SeriesRecord {
        label: series.label.clone(),
        target: series.target,
        workload: series.workload.name().to_owned(),
        writes: series.writes(),
        pool_bytes: match series.pool {
            Some(PoolSize::Bytes(bytes)) => Some(bytes),
            _ => None,
        },
        pool_percent: match series.pool {
            Some(PoolSize::Percent(percent)) => Some(percent),
            _ => None,
        },
        layout: series.layout,
        levels: series.levels.clone(),
    }
}
