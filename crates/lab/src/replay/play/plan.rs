//! What is sent, by whom and how; and what became of it.

use crate::replay::recording::Recording;
use crate::replay::{Answered, Played, SIDES};
use evenkeel_core::Nanos;
use evenkeel_os::Stop;
use evenkeel_site::server::Target;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// So many times as fast as it was recorded.
    Times(f64),
    /// Each command as soon as the one before it is answered.
    Flat,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Who {
    /// The sessions of the recording.
    Sessions,
    /// So many clients, of whom each sends the whole recording on one session.
    Clients(u32),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    pub who: Who,
    pub pace: Pace,
    /// Also what changes something.
    pub writes: bool,
    /// What had ended before a command was sent ends before it is sent again.
    pub ordered: bool,
    /// Commands whose results have so many rows or more are sent apart from each other, by clients that send all.
    pub spread: Option<u64>,
    /// Rows are hashed, and their bytes counted; else only their number is known.
    pub hashes: bool,
    /// Dates in the text of statements move by the days from the start of their log to this time, nanoseconds since 1970.
    pub shift_to: Option<u64>,
}

/// Commands by what became of them.
#[derive(Debug, Default)]
pub struct Counts {
    pub played: AtomicU64,
    /// They change something, and only reads are sent.
    pub writes: AtomicU64,
    /// They run what was prepared before the recording began, or need what only the client has.
    pub unknown: AtomicU64,
    /// The recording could not be read there.
    pub unreadable: AtomicU64,
    /// There was no server to send them to.
    pub unreachable: AtomicU64,
    /// Connections that were lost.
    pub lost: AtomicU64,
    /// Rows inserted with other AUTO_INCREMENT numbers than recorded, since the server did not let us choose them.
    pub renumbered: AtomicU64,
    /// Commands that were sent though another had not ended, after a wait of ten seconds.
    pub out_of_order: AtomicU64,
}

impl Counts {
    pub(super) fn count(of: &AtomicU64) {
        of.fetch_add(1, Ordering::Relaxed);
    }

    /// Commands that are done with.
    pub fn done(&self) -> u64 {
        let done = [&self.played, &self.writes, &self.unknown, &self.unreadable, &self.unreachable];
        done.into_iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }
}

/// Gets each command that was sent, with its text, from any thread.
pub type Taker<'a> = &'a (dyn Fn(&Played, &[u8]) + Sync);

/// What an earlier replay, which was stopped, has of a command.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Past {
    pub behind: Nanos,
    pub digest: u64,
    pub answers: [Option<Answered>; SIDES],
    pub again: Option<Answered>,
}

impl Past {
    /// Whether a server was not there to answer.
    pub fn is_lost(&self) -> bool {
        self.answers.iter().flatten().any(Answered::is_lost)
    }
}

/// Looks it up by client and number of the command.
pub type PastOf<'a> = &'a (dyn Fn(u32, u32) -> Option<Past> + Sync);

/// What all threads of a replay share.
pub struct Replay<'a> {
    pub recording: &'a Recording,
    /// One server, or two that are asked in turn.
    pub targets: &'a [Target],
    pub options: Options,
    /// That of all sessions, as `+02:00`, until a recorded statement sets another one; the servers' own where there is none.
    pub time_zone: Option<&'a str>,
    /// Names of the servers' stored functions, in capitals: what calls one may write.
    pub stored: &'a BTreeSet<String>,
    pub counts: &'a Counts,
    pub stop: &'a Stop,
    pub take: Taker<'a>,
    /// What it has is taken and not sent again.
    pub past: Option<PastOf<'a>>,
}
