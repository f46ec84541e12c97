//! What a server carries, as bounds that hold, each with 95 % confidence:
//!
//! - *at least*: a rate that the server was seen to carry. Of the rates at which most runs settled, the highest lower bound of
//!   the throughput over all runs of a rate;
//! - *at most*: the lowest rate that it was seen not to carry: most runs did not settle, and their completions stayed
//!   behind their arrivals by more than chance brings;
//! - *by itself*: the rate that it would carry without neighbours, from what it did at saturation while nobody took
//!   its CPUs, or from what was taken there ([`alone`]).
//!
//! Work per request ([`work`]) gives the rate at which a resource ends, by the utilisation law. [`Sequence`] says which run
//! tightens the bounds most. Runs whose generator failed take no part.

pub mod alone;
pub mod carried;
mod sequence;
pub mod stretches;
pub mod work;

pub use alone::Alone;
use carried::taken;
pub use carried::{Carried, Clear, Fate, Range, Rate, RunAt, settled};
pub use sequence::{Objective, RATES_FIRST, RUNS_CURVE, Responses, Sequence, Step, Wanted, middle};
pub use work::{Work, difference};

/// All that the runs of one series, or of series that differ in the target alone, say about what is carried.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub carried: Carried,
    pub alone: Option<Alone>,
    /// CPU time of the server's CPUs that others took, percent, over all runs; `None` where it cannot be seen.
    pub taken_percent: Option<f64>,
    /// Runs that took no part, because their generator failed.
    pub left_out: usize,
}

impl Answer {
    pub fn of(runs: &[RunAt]) -> Self {
        let valid: Vec<&RunAt> = runs.iter().filter(|run| run.valid && run.seconds > 0.0).collect();
        let carried = Carried::of(&valid);
        Self {
            alone: Alone::of(&valid, &carried),
            taken_percent: taken(&valid).map(|taken| 100.0 * taken),
            left_out: runs.len() - valid.len(),
            carried,
        }
    }

    pub fn is_something(&self) -> bool {
        self.carried.at_least.is_some() || self.carried.at_most.is_some() || self.alone.is_some()
    }
}

#[cfg(test)]
mod five_minutes;
#[cfg(test)]
mod tests;
