//! The command line: what stands on it, and who does what it asks for.

mod commands;
mod line;
pub mod modes;
mod number;
mod short;

#[cfg(test)]
pub use commands::Command;
pub use commands::{parse, run};
pub use line::{Cli, FIRST_STEPS};
pub use number::whole_number;
