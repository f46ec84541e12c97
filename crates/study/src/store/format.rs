//! What stands in the files of a study folder. The only types of this crate that derive serde; a change
//! that older readers cannot take raises [`FORMAT`].

pub use super::estimates::{BatchRecord, EstimateRecord, PartMeansRecord, PartsRecord};
pub use super::plan::{
    CellRecord, ManifestFile, PlanFile, ProbeRecord, SeriesRecord, ServerRecord, SettingsRecord,
    StatementPlanRecord, SweepRecord, TargetRecord, WorkloadFileRecord,
};
pub use super::run::{
    AttemptRecord, CpuRecord, GaugeRecord, KindRecord, PerMinuteRecord, RunFile, StretchRecord, TimesRecord,
};
pub use super::summary::{
    BoundsRecord, CellSummary, DomainRecord, HeadlineRecord, NeighboursRecord, RangeRecord, ResetRecord,
    SummaryFile, UndisturbedRecord, Verdict, WorkRecord, WrittenFile,
};
pub use evenkeel_core::caveat::{Caveat, Severity};
pub use evenkeel_lab::load::Counts as CountsRecord;
pub use evenkeel_lab::workload::Class;
pub use evenkeel_site::elsewhere::{SensedBy, SensedRecord};
use serde::Deserialize;

/// Version of all files of a folder.
pub const FORMAT: u32 = 1;

/// What every `plan.json` has, and every other file of a folder as far as its format goes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Head {
    pub format: u32,
    /// `profile`, the name of a study file, or that of a published study.
    #[serde(default)]
    pub kind: String,
    /// Seconds since 1970, of a plan.
    #[serde(default)]
    pub(super) created_unix_s: u64,
    /// Only the plan of a published study has parts.
    #[serde(default)]
    parts: Option<serde::de::IgnoredAny>,
}

impl Head {
    /// Whether it is a published study, whose plan is a [`crate::harness::Plan`].
    pub fn is_published(&self) -> bool {
        self.parts.is_some()
    }
}
