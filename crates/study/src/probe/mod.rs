//! What a place gives, before any database uses it: disk, network, CPU, caches, flushes, and the memory that the place itself takes.
//!
//! `place` is where a probe runs: the machine, or the domain of a running private server. `disk` asks fio, `network` iperf3; `machine` and
//! `flush` are our own code, which runs inside the domain as a process of this program (`inside`). Each function measures once; who wants
//! an interval calls it again. `None` means that somebody asked to stop.

pub mod disk;
pub mod flush;
pub mod inside;
pub mod machine;
pub mod memory;
pub mod network;
pub(crate) mod place;

use crate::published::Result;
use inside::Question;
pub use place::Place;

/// Measures in this process what another one of this program asked for by the subcommand [`inside::WORD`]; what to print.
///
/// # Errors
/// The question is none, or what it asks for cannot be measured.
pub fn answer(question: &str) -> Result<String> {
    Ok(match serde_json::from_str(question)? {
        Question::Machine { seconds } => serde_json::to_string(&machine::measure(seconds)?)?,
        Question::Flush { file, time } => serde_json::to_string(&flush::measure(&file, time)?)?,
    })
}
