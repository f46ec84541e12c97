//! Flags and files of users, read into the libraries' plain types.

#[macro_use]
pub mod types;
#[macro_use]
pub mod fields;

pub mod control;
pub mod costs;
pub mod factor;
mod generator;
pub mod guard;
pub mod lines;
pub mod masked;
pub mod rate;
pub mod share;
pub mod study;
pub mod units;
pub mod workload;
