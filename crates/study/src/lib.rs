//! What is compared, how often and in which order, and what is found. It never prints.
//!
//! `profile` walks cells and repeats over arrival rates, `harness` is what all published studies share, `store` keeps what was
//! measured, `compare` says which of two is better, `format` writes numbers as people read them.

pub mod compare;
pub mod format;
pub mod harness;
pub mod profile;
pub mod store;
