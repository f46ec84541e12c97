//! Flags and files of users, read into the libraries' plain types.

pub mod control;
pub mod costs;
pub mod factor;
pub mod fields;
mod generator;
pub mod guard;
pub mod lines;
pub mod masked;
pub mod rate;
pub mod share;
pub mod study;
pub mod units;
pub mod workload;
