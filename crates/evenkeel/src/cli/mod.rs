//! The command line: what stands on it, and who does what it asks for.

mod commands;
mod line;
pub mod modes;
mod short;

#[cfg(test)]
pub use commands::Command;
pub use commands::{parse, run, whole_number};
pub use line::{Cli, FIRST_STEPS};
