//! The plan of a study as it stands in its folder.

use super::spec::{PoolSize, SeriesSpec, StudySpec};
use crate::store::format::{FORMAT, PlanFile, SeriesRecord, SettingsRecord, TargetRecord};

/// The plan of a new study, before any rate is known.
pub fn new_plan(
    spec: &StudySpec,
    id: String,
    created_unix_s: u64,
    settings: SettingsRecord,
    targets: Vec<TargetRecord>,
) -> PlanFile {
    PlanFile {
        format: FORMAT,
        id,
        kind: spec.kind.clone(),
        created_unix_s,
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        command: spec.command.clone(),
        seed: spec.seed.0,
        settings,
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
