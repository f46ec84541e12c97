//! What a server answers at a rate that was not measured, and how many servers an objective needs.
//!
//! One model, for the mean response and for p95: `R(l) = R0 (1 + k w(l))`, where `w` is the wait for one of `c` CPUs in service times, by
//! M/M/c (Erlang, 1917; Kleinrock, Queueing Systems, vol. 1, 1975, section 3.5), and ends at the capacity. The factor `k` covers uneven
//! arrivals and work, which make an M/G/c queue wait about `(Ca^2 + Cs^2) / 2` times as long (Allen, Probability, Statistics and Queueing
//! Theory, 2nd ed., 1990, section 5.3), and delays that no load changes.
//!
//! The capacity is known from the bounds of the profile and from the CPU time of a request, the rest from the runs. Bayes' rule joins them:
//! the posterior is sampled by a random walk (Metropolis et al., J. Chem. Phys. 21 (1953) 1087), so that one rate is enough for an interval
//! and each further rate narrows it. What the model errs by is smooth along the rates (`fit`). Intervals are predictive: they hold what one
//! run of a minute gives, with what runs differ by.

mod error;
mod fit;
mod model;
mod needed;
mod sizing;
mod station;

pub use error::SizeError;
pub use model::{Ends, Figure, Measured};
pub use needed::{Answer, Needed, Server};
pub use sizing::{LeftOut, Prediction, Sizing};

#[cfg(test)]
mod tests;
