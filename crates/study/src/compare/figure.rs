//! What of runs is compared.

use crate::store::format::RunFile;
use evenkeel_core::experiment::Better;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Completions per second in overload, or of two cells.
    Throughput,
    /// Mean response time.
    Tau,
    /// 95th percentile of the response time.
    P95,
}

impl Figure {
    /// All of them by their names.
    pub const NAMES: [(&str, Self); 3] =
        [("throughput", Self::Throughput), ("tau", Self::Tau), ("p95", Self::P95)];

    /// Its name, as `--of` takes it.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, figure)| *figure == self).map_or("", |(name, _)| name)
    }

    /// The one of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, figure)| *figure)
    }

    pub(super) fn better(self) -> Better {
        match self {
            Self::Throughput => Better::Higher,
            Self::Tau | Self::P95 => Better::Lower,
        }
    }

    /// Of a run; `None` of one without an answer, which has no response time.
    pub(super) fn of(self, run: &RunFile) -> Option<f64> {
        let answered = run.response.count > 0;
        match self {
            Self::Throughput => Some(run.throughput_per_s),
            Self::Tau => answered.then_some(run.response.mean_ms),
            Self::P95 => answered.then_some(run.response.p95_ms),
        }
    }
}
