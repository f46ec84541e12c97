//! Why nothing is told.

use std::fmt;

/// Why nothing is told of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SizeError {
    /// A model needs more rates than the profile trusts.
    TooFewRates {
        /// Trusted rates with a response and its error.
        have: usize,
        /// How many are needed.
        needed: usize,
    },
    /// No rate of the profile is trusted.
    NothingTrusted,
    /// The rate of a server lies above what the profile trusts.
    BeyondTrust {
        /// Requests per second of a server.
        rate: f64,
        /// The highest trusted rate.
        limit: f64,
    },
    /// The server cannot carry the rate.
    Saturates {
        /// Requests per second of a server.
        rate: f64,
        /// What it carries at most, as the model has it.
        capacity: f64,
    },
    /// No number of servers is known to meet the objective: at the lowest rate that was measured a server may already answer more slowly.
    OutOfReach {
        /// What was wanted, seconds.
        objective: f64,
        /// What a server may take at the lowest rate that was measured, seconds.
        least: f64,
        /// That rate, per second.
        rate: f64,
    },
    /// The interval is so wide that it says nothing.
    LeavesOpen {
        /// Requests per second of a server.
        rate: f64,
    },
    /// The rate is not a number above zero.
    NotARate(f64),
}

impl fmt::Display for SizeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TooFewRates { have, needed } => {
                write!(out, "a model needs {needed} trusted rates, and the profile has {have}")
            }
            Self::NothingTrusted => write!(out, "the profile trusts none of its rates"),
            Self::BeyondTrust { rate, limit } => {
                write!(out, "{rate:.1} requests/s for a server lie beyond the trust limit of {limit:.1}")
            }
            Self::Saturates { rate, capacity } => {
                write!(
                    out,
                    "a server does not carry {rate:.1} requests/s: by the model it ends at {capacity:.1}"
                )
            }
            Self::OutOfReach { objective, least, rate } => write!(
                out,
                "no number of servers is known to meet {:.1} ms: at {rate:.1} requests/s, the least that was measured, one may already take {:.1} ms",
                1e3 * objective,
                1e3 * least
            ),
            Self::LeavesOpen { rate } => write!(
                out,
                "the profile leaves open what a server answers at {rate:.1} requests/s: its rates contradict one another, or err too much"
            ),
            Self::NotARate(rate) if rate > 0.0 => {
                write!(out, "{rate} per second take more servers than can be told of")
            }
            Self::NotARate(rate) => write!(out, "{rate} is no rate above zero"),
        }
    }
}

impl std::error::Error for SizeError {}
