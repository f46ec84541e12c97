//! Files that users write, in TOML.

mod fields;
mod generator;
pub mod workload;
