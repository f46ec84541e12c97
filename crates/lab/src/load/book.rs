//! What a session remembers for the parts of its requests.

use super::parts::Watched;
use evenkeel_core::Nanos;
use evenkeel_sense::waits::ThreadWaits;

/// What is known of the request under way, and of the session's own course.
#[derive(Debug, Default)]
pub(super) struct Book {
    pub drawn: bool,
    /// How much of what a session is told once it was told.
    pub begun: usize,
    /// Number of the last statement that the server told of.
    pub last: u64,
    /// Whether the kernel was asked to note when bytes come in.
    pub stamps: bool,
    /// The server's process and the thread of it that answers, where that is known.
    pub server: Option<(u32, u32)>,
    /// What that thread had waited for a CPU as the statement under way was sent.
    pub server_before: Option<Nanos>,
    /// How long the last bytes had been there when they were read, and whether the kernel says so.
    pub lay: (Nanos, bool),
    /// The request under way, or the one that the server is asked about.
    pub watched: Watched,
    /// Whether that arrived in the measured phase.
    pub measured: bool,
    pub asked_at: Nanos,
}

impl Book {
    /// What the server's thread has waited for a CPU until now.
    pub fn server_waited(&self) -> Option<Nanos> {
        let (process, thread) = self.server?;
        Some(ThreadWaits::of(process, thread)?.waited)
    }
}
