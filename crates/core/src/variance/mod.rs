//! Why repeats differ: the variance between requests, runs, starts, populations and targets, each with an interval.
//!
//! A run's mean response is the unit, `y = mean + target + population + start + run + requests`, and each part has a
//! variance of its own. A level with a single unit is not seen at all, and one that changes only together with the level above
//! it counts with that. Numbers of units may differ anywhere.
//!
//! Estimates are those of moments by unweighted sums of squares: each unit counts by the plain mean of what lies within it,
//! and the mean square of a level over its parents, `S`, has an expectation that is linear in the variances (Thomas and
//! Hultquist, Ann. Statist. 6 (1978) 582; Burdick and Graybill, Confidence Intervals on Variance Components, 1992, chapters 4
//! to 6). From the lowest level up each variance is a sum of mean squares with known factors ([`interval`] makes the interval).
//!
//! Requests of a run depend on one another, so that their variance is that of batches of a run, with their correlation
//! ([`Requests`]). Parts are taken to be normal: of starts that come out one of two ways the interval is too wide.

mod components;
mod design;
mod interval;
mod requests;
mod spending;

pub use components::{Component, Components, Dominant};
pub use design::{Level, Observation, Position, VarianceError};
pub use requests::Requests;
pub use spending::{Costs, Repeat};

#[cfg(test)]
mod tests;
