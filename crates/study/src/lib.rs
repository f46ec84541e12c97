//! What is compared, how often and in which order, and what is found. It never prints.
//!
//! `profile` walks cells and repeats over arrival rates, `harness` goes from run to run, `throttling`, `shares`, `databases`, `domains`, `telecom`, `recovery` and `variation`
//! are the published studies, `published` what these have in common, `store` keeps what was measured, `compare` says which of two is better, `replay` what a replay
//! comes to,
//! `format` writes numbers as people read them.
#![forbid(unsafe_code)]

pub mod compare;
pub mod databases;
pub mod domains;
pub mod forgotten;
pub mod format;
pub mod harness;
pub mod interfere;
pub mod probe;
pub mod profile;
pub mod published;
pub mod recovery;
pub mod replay;
pub mod shares;
pub mod size;
pub mod store;
pub mod telecom;
pub mod throttling;
pub mod variation;
