//! A recorded load, sent again: each command on the session that it came from, in that session's order.
//!
//! Every log becomes a capture first (`evenkeel_wire::capture`), so that there is one form to send again.

pub mod check;
mod explain;
mod hash;
pub mod import;
pub mod log;
mod places;
pub mod play;
pub mod reads;
pub mod recording;
mod records;
#[cfg(test)]
mod tests;

pub use explain::explain;
pub use hash::RowHash;
pub use recording::Recording;

use evenkeel_core::Nanos;

/// MariaDB's number for the statement that was prepared last.
const LAST_PREPARED: u32 = u32::MAX;
/// What clients report where a connection is lost (CR_SERVER_LOST), or cannot be had (CR_CONN_HOST_ERROR).
const LOST: u16 = 2013;
const UNREACHABLE: u16 = 2003;
/// Most servers that are asked the same.
pub const SIDES: usize = 2;

/// How one command went when it was sent again.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    /// Its place in the recording, in the order of starts.
    pub number: u64,
    pub session: u64,
    /// Which of the clients that each send the whole recording.
    pub client: u32,
    /// When it was due, from the start of the replay.
    pub due: Nanos,
    /// It could be sent so much later than it was due, since the session had no answer yet: not our error.
    pub behind: Nanos,
    /// Of statements that differ in their literals alone.
    pub digest: u64,
    pub recorded: evenkeel_wire::capture::Answer,
    /// What the recorded answer took.
    pub recorded_time: Option<Nanos>,
    /// By server.
    pub answers: [Option<Answered>; SIDES],
    /// The first server's answer to the same command again, where the two differed.
    pub again: Option<Answered>,
    /// An earlier replay sent it.
    pub is_past: bool,
}

/// What a server answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answered {
    /// Sent later than due, our own error.
    pub lag: Nanos,
    pub response: Nanos,
    pub rows: u64,
    pub affected: u64,
    pub bytes: u64,
    pub warnings: u64,
    /// Of its rows, in any order, with numbers in one form.
    pub hash: u64,
    pub error: Option<u16>,
}

impl Answered {
    fn is_lost(&self) -> bool {
        matches!(self.error, Some(LOST | UNREACHABLE))
    }
}
