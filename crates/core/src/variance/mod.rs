//! Why repeats differ: the variance between requests, runs, starts, populations and targets, each with an interval.
//!
//! Requests lie within a run, runs within a start of the server, starts within a population of its tables, populations within a
//! target. A run's mean response `y` is the unit, `y = mean + target + population + start + run + requests`, and each part has a
//! variance of its own. A level may be absent: one with a single unit is not seen at all, and one that changes only together
//! with the level above it cannot be told from that, and counts with it. Numbers of units may differ anywhere.
//!
//! Estimates are those of moments by unweighted sums of squares: each unit counts by the plain mean of what lies within it,
//! and the mean square of a level over its parents, `S`, has an expectation that is linear in the variances (Thomas and
//! Hultquist, Ann. Statist. 6 (1978) 582; Burdick and Graybill, Confidence Intervals on Variance Components, 1992, chapters 4
//! to 6). With equal numbers they are those of the analysis of variance (Type I). From the lowest level up each variance is a
//! sum of mean squares with known factors, positive and negative ([`interval`] makes the interval of it).
//!
//! Requests of a run depend on one another, so that their variance is that of batches of a run, with their correlation
//! ([`Requests`]): a run's mean of `n` requests has the variance `requests / n`.
//!
//! Parts are taken to be normal. Of starts that come out one of two ways, as with two plans, the interval is too wide.

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
