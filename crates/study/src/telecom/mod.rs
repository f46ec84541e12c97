//! The telecom study: call records exported, converted, loaded, dispatched and audited, each beside the published figure.
//!
//! `study` is what the harness makes: `bed` is the private server, `files` the records, `bench` loads and audits them; `runs`, `crash`
//! and `days` are runs, `machine` looks at the machine meanwhile.
//!
//! All else is pure: `record` is the setting in its plan, `parts` which runs there are, `time` how long they take, `figures` which
//! figures a run has, `judge` what the runs say of the published findings,
//! `references` the published figures themselves.

mod bed;
mod bench;
mod crash;
mod days;
pub mod figures;
mod files;
mod judge;
mod machine;
pub mod parts;
pub mod record;
mod references;
mod runs;
mod study;
#[cfg(test)]
mod tests;
pub mod time;
mod words;

pub use judge::judge;
pub use study::Telecom;

/// The study's name in plans and on the command line.
pub const NAME: &str = "telecom";

pub const QUESTION: &str =
    "how long do call records take from files to day tables, and is one lost when the server is killed?";
