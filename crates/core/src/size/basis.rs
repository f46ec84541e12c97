//! What the models are fitted to.

/// Relative error that no response is known better than, so that one that seems to be exact does not decide alone.
const ERROR_LEAST: f64 = 0.01;

/// A response at a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Arrivals per second.
    pub rate: f64,
    /// Response time in seconds: a mean, or a percentile.
    pub response: f64,
    /// Standard error of it, as a part of it.
    pub error: f64,
    /// The rate at which the CPUs would be full, by the work of a request at this rate; `None` where that cannot be seen or says
    /// little.
    pub full_at: Option<f64>,
}

impl Measured {
    /// Whether it can be fitted to.
    pub(super) fn is_something(&self) -> bool {
        let is_some = |value: f64| value > 0.0 && value.is_finite();
        is_some(self.rate) && is_some(self.response) && self.error.is_finite() && self.error >= 0.0
    }

    pub(super) fn error(&self) -> f64 {
        self.error.max(ERROR_LEAST)
    }
}

/// What is known of the server besides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Basis {
    /// CPUs that serve.
    pub cpus: f64,
    /// The rate at which these are full, by the work of a request; `None` where that cannot be seen. What single rates tell goes before it.
    pub full_at: Option<f64>,
    /// The highest rate that the profile trusts, per second.
    pub limit: f64,
}

impl Basis {
    /// As it is known by these points alone, so that a rate that is left out has no part in what tells it.
    pub(super) fn by(&self, points: &[Measured]) -> Self {
        let full: Vec<f64> = points.iter().filter_map(|point| point.full_at).collect();
        match full.len() {
            0 => Self { full_at: None, ..*self },
            n => Self { full_at: Some(full.iter().sum::<f64>() / n as f64), ..*self },
        }
    }
}
