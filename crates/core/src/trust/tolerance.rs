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
