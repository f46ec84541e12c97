//! What of runs is compared.

use crate::profile::cpu_ms_per_request;
use crate::store::format::{RunFile, TimesRecord};
use evenkeel_core::experiment::Better;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Completions per second in overload.
    Throughput,
    /// Mean response time.
    Response,
    /// 95th percentile of the response time.
    P95,
    /// CPU time of the server for a request.
    Cpu,
}

impl Figure {
    pub const NAMES: [(&str, Self); 4] = [
        ("throughput", Self::Throughput),
        ("response", Self::Response),
        ("p95", Self::P95),
        ("cpu", Self::Cpu),
    ];

    /// Its name, as `--of` takes it.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, figure)| *figure == self).map_or("", |(name, _)| name)
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Response => "response time",
            Self::P95 => "p95",
            Self::Cpu => "CPU per request",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, figure)| *figure)
    }

    pub(super) fn better(self) -> Better {
        match self {
            Self::Throughput => Better::Higher,
            Self::Response | Self::P95 | Self::Cpu => Better::Lower,
        }
    }

    /// Whether it is a response time, which a late generator lengthens.
    pub(super) fn is_response(self) -> bool {
        matches!(self, Self::Response | Self::P95)
    }

    /// Of a run; `None` of one without an answer, which has no response time, or whose CPU use nobody saw.
    pub(super) fn of(self, run: &RunFile, count: Count) -> Option<f64> {
        let response = run.response.measured();
        match self {
            Self::Throughput => Some(run.throughput_per_s),
            Self::Cpu => cpu_ms_per_request(run),
            Self::Response => Some(response?.mean_ms - own(run, count, |lag| lag.mean_ms)),
            // Never less than what the server took from the sending on.
            Self::P95 => Some((response?.p95_ms - own(run, count, |lag| lag.p95_ms)).max(run.service.p95_ms)),
        }
    }

    /// Of a statement of a run, from its sending to its last answer.
    pub(super) fn of_statement(self, times: &TimesRecord) -> Option<f64> {
        times.measured().map(|times| if self == Self::P95 { times.p95_ms } else { times.mean_ms })
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Count {
    /// From the instant at which a request was due.
    #[default]
    Due,
    Sent,
    /// From when it was due, without the runs whose generator was late.
    Punctual,
}

/// The generator's own part, where responses count from the sending.
fn own(run: &RunFile, count: Count, figure: fn(&TimesRecord) -> f64) -> f64 {
    if count == Count::Sent { run.lag.measured().map_or(0.0, figure) } else { 0.0 }
}
