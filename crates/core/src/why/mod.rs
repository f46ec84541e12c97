//! Why a profile varies: each suspect is the cause of what differs, is not, or cannot be told.
//!
//! Two targets are compared, the slowest and the fastest, block by block (a start of every target and the runs on it), so that
//! what the machine did over time falls out. What a suspect does to a request is a time wherever that is known. It is the
//! cause where that time differs with 95 % confidence and makes a good part of what the response times differ by, and is not
//! where the whole interval is less than that. A plan is compared by its shape and by rows touched, stolen CPU time and
//! neighbours by their share of the CPUs; these are believed only where nothing else explains the difference.
//! Starts of one server are told from its runs by variance components of the same differences.

mod judge;
mod start;
mod timed;
mod verdict;

pub use verdict::{
    Compared, Facts, Figure, Gap, LITTLE, NEIGHBOURS_MIN, OWN_MAX, Observation, ROWS_MIN, Ruling, SHARE_MIN,
    STOLEN_MIN, Seen, Suspect, Verdict, Why,
};

#[cfg(test)]
mod tests;
