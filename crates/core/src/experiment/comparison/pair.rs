//! Runs of both sides, as they are compared.

/// The figure of each run on both sides, under the same conditions (one arrival rate, say).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pair {
    /// Of the first thing, to which the other is compared.
    pub first: Vec<f64>,
    /// Of the second.
    pub second: Vec<f64>,
}
