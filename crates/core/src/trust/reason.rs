use crate::caveat::threshold::LOST_MAX;
use std::fmt;

/// With the code of the caveat that says how a measurement failed, or with percent: of the arrivals, or of tau. The standard error is
/// what it is at most, at [`CONFIDENCE`].
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    Invalid(String),
    Unsettled,
    TooShort,
    Lost(f64),
    TargetsMissing { measured: usize, targets: usize },
    TooFewRuns(u64),
    StandardError { percent: f64, tolerance: f64 },
    Spread { percent: f64, tolerance: f64 },
}

/// Response time counts from the scheduled arrival, so what the generator is late by lengthens it.
const LATE: &str =
    "part of the response time is the load generator's own delay, so the server is faster than shown";

impl fmt::Display for Reason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(code) if code == "lag-too-large" => out.write_str(LATE),
            Self::Invalid(code) => write!(out, "the measurement is not valid ({code})"),
            Self::Unsettled => write!(out, "response times do not settle"),
            Self::TooShort => write!(out, "runs are too short to tell whether response times settle"),
            Self::Lost(percent) => {
                write!(out, "{percent:.1} % of the requests got no answer, limit {LOST_MAX:.1} %")
            }
            Self::TargetsMissing { measured, targets } => {
                write!(out, "{measured} of {targets} targets are measured")
            }
            Self::TooFewRuns(runs) => {
                let runs_are = if *runs == 1 { "run is" } else { "runs are" };
                write!(out, "{runs} {runs_are} too few to tell how much they differ")
            }
            Self::StandardError { percent, tolerance } => write!(
                out,
                "runs differ too much, standard error up to {percent:.1} % of the mean ({:.0} % confidence), limit {tolerance:.1} %",
                100.0 * CONFIDENCE
            ),
            Self::Spread { percent, tolerance } => {
                write!(
                    out,
                    "targets differ by {percent:.1} % of the mean response time, limit {tolerance:.1} %"
                )
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Untrusted {
    pub rate: f64,
    /// Utilisation in percent; `None` where it was not available.
    pub utilisation: Option<f64>,
    pub reason: Reason,
}

impl Untrusted {
    /// `at 50 requests/s (20 % CPU use)`.
    pub fn place(&self) -> String {
        let used = self.utilisation.map_or_else(String::new, |theta| format!(" ({theta:.0} % CPU use)"));
        format!("at {} requests/s{used}", self.rate)
    }
}

impl fmt::Display for Untrusted {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.place(), self.reason)
    }
}

/// How far runs and targets may differ, in percent of the mean response time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Highest standard error over runs.
    pub standard_error: f64,
    /// Highest distance between the slowest and the fastest target.
    pub spread: f64,
}

/// Confidence with which the standard error over runs keeps its tolerance, where a point is trusted.
pub const CONFIDENCE: f64 = 0.9;

impl Default for Tolerance {
    fn default() -> Self {
        Self { standard_error: 10.0, spread: 40.0 }
    }
}
