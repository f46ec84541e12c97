//! The mathematics of Evenkeel: numbers in, numbers out.
//!
//! No I/O, no clock, no threads, no global randomness, no logging, no serde. Time is an argument,
//! randomness is a seed, and the same input gives the same output for ever.
#![forbid(unsafe_code)]

pub mod admission;
pub mod arrivals;
pub mod bounds;
pub mod caveat;
pub mod control;
pub mod digits;
pub mod distribution;
pub mod disturbance;
pub mod experiment;
pub mod gate;
pub mod histogram;
pub mod number_map;
pub mod policy;
pub mod random;
pub mod rates;
pub mod reads;
pub mod share;
pub mod size;
pub mod stability;
pub mod statistics;
pub mod time;
pub mod trust;
pub mod variance;
pub mod why;

pub use time::Nanos;
