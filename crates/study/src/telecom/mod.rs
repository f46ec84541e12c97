//! The telecom study: call records exported, converted, loaded, dispatched and audited, each beside the published figure.
//!
//! `study` is what the harness makes: `files` are the records, `bench` is the private server with what all runs do; `runs`, `crash` and
//! `days` are runs. All else is pure: `record` is the setting in its plan, `parts` which runs there are, `figures` which figures a run
//! has, `judge` what the runs say of the published claims, `references` the published figures themselves.

mod bench;
mod crash;
mod days;
pub mod figures;
mod files;
mod judge;
pub mod parts;
pub mod record;
mod references;
mod runs;
mod study;
#[cfg(test)]
mod tests;

pub use judge::judge;
pub use study::Telecom;

/// The study's name in plans and on the command line.
pub const NAME: &str = "telecom";

pub const QUESTION: &str =
    "how long do call records take from files to day tables, and is one lost when the server is killed?";
