//! One connection and what it is doing.

use super::parts::Watched;
use super::poller::Start;
use super::tls::Link;
use super::written::{Handle, Written, values};
use crate::workload::{Parameters, Reply};
use evenkeel_core::Nanos;
use evenkeel_sense::waits::ThreadWaits;
use evenkeel_wire::{Completion, Event, Expect, Login, ProtocolError, ResponseReader, ServerError};
use std::collections::VecDeque;
use std::io;

/// Captured rows above this size are refused: 16 MiB.
const PACKET_LIMIT: usize = 16 << 20;

/// What a session is doing. The number is that of the statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Closed,
    Connecting,
    Encrypting,
    LoggingIn,
    Idle,
    Preparing(usize),
    Executing(usize),
    /// It is told to keep book, before this is asked.
    Beginning(usize),
    /// The server is asked how long it worked on a request that has ended.
    Asking,
    /// Its client waits before it asks this.
    Pausing(usize),
    RollingBack,
}

impl State {
    /// Whether a response is due.
    pub fn is_asking(self) -> bool {
        matches!(
            self,
            Self::Preparing(_) | Self::Executing(_) | Self::Beginning(_) | Self::Asking | Self::RollingBack
        )
    }

    /// Whether the session is on its way to its first command.
    pub fn is_opening(self) -> bool {
        matches!(self, Self::Connecting | Self::Encrypting | Self::LoggingIn)
    }
}

/// The request that a session works on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub arrival: Nanos,
    /// Zero until the first bytes went out.
    pub send: Nanos,
    /// Zero until something came back.
    pub first_byte: Nanos,
    /// When the statement under way went out.
    pub statement_send: Nanos,
    /// When the first statement of the step under way went out; zero between steps.
    pub step_send: Nanos,
    /// Its number in the arrival process, or its closed client.
    pub number: u64,
    pub client: u32,
    pub kind: u32,
    pub measured: bool,
    /// Whether the parts of its response time are to be known.
    pub watched: bool,
    /// How it came to its session.
    pub start: Start,
}

pub(super) type Answer = Result<(), ServerError>;

/// One slot for a connection; the buffers stay when the connection goes.
pub(super) struct Session {
    pub link: Option<Link>,
    pub state: State,
    /// Counts connections, so that an event of an earlier one is recognised.
    pub connection: u32,
    /// Counts what has a deadline, so that a deadline of something earlier is recognised.
    pub epoch: u32,
    pub login: Option<Box<Login>>,
    pub reader: ResponseReader,
    pub out: Vec<u8>,
    pub sent: usize,
    /// Whether the kernel has no room for what waits in `out`.
    pub blocked: bool,
    pub handles: Vec<Option<Handle>>,
    /// Status flags of the last OK packet.
    pub status: u16,
    pub parameters: Parameters,
    pub reply: Reply,
    pub request: Option<Request>,
    /// How much later than need be it becomes free, because its request was sent late.
    pub carried: Nanos,
    pub book: Book,
    /// What the open transaction has written.
    pub pending: Written,
    error: Option<ServerError>,
}

impl Session {
    pub fn new(statements: usize) -> Self {
        Self {
            link: None,
            state: State::Closed,
            connection: 0,
            epoch: 0,
            login: None,
            reader: ResponseReader::new(true, PACKET_LIMIT),
            out: Vec::new(),
            sent: 0,
            blocked: false,
            handles: vec![None; statements],
            status: 0,
            parameters: Parameters::new(),
            reply: Reply::default(),
            request: None,
            carried: Nanos::ZERO,
            book: Book::default(),
            pending: Written::default(),
            error: None,
        }
    }

    pub fn close(&mut self) {
        self.link = None;
        self.login = None;
        self.state = State::Closed;
        self.connection = self.connection.wrapping_add(1);
        self.epoch = self.epoch.wrapping_add(1);
        self.out.clear();
        self.sent = 0;
        self.blocked = false;
        self.handles.fill(None);
        self.status = 0;
        self.error = None;
        self.carried = Nanos::ZERO;
        self.book = Book::default();
        self.pending = Written::default();
    }

    /// The login is over: commands may follow.
    pub fn logged_in(&mut self, deprecate_eof: bool, status: u16) {
        self.login = None;
        self.reader = ResponseReader::new(deprecate_eof, PACKET_LIMIT);
        self.status = status;
        self.state = State::Idle;
    }

    /// Whether something was not handed to the kernel yet, here or in TLS.
    pub fn wants_flush(&self) -> bool {
        !self.out.is_empty() || self.link.as_ref().is_some_and(Link::wants_flush)
    }

    /// Hands what is in `out` to the link; false where some of it has to wait.
    pub fn flush(&mut self) -> io::Result<bool> {
        let Some(link) = &mut self.link else { return Ok(true) };
        while self.sent < self.out.len() {
            match link.send(&self.out[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        self.out.clear();
        self.sent = 0;
        match link.flush() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            flushed => flushed.map(|()| true),
        }
    }

    /// A command is about to go out; its answer begins with packet number `sequence`.
    pub fn ask(&mut self, state: State, expect: Expect, sequence: u8, capture: bool) {
        self.state = state;
        self.reader.begin(expect, sequence, capture);
        self.reply.rows.clear();
        self.reply.row_count = 0;
        self.reply.affected_rows = 0;
        self.reply.last_insert_id = 0;
        self.error = None;
    }

    /// Reads what came; the answer once the response is whole.
    pub fn read(&mut self, mut input: &[u8]) -> Result<Option<Answer>, ProtocolError> {
        while let Some(event) = self.reader.next(&mut input)? {
            match event {
                Event::Ok(ok) => note(&mut self.reply, &mut self.status, &ok),
                Event::RowsEnd { rows, ok } => {
                    self.reply.row_count += rows;
                    self.status = ok.status;
                }
                Event::Row(row) => {
                    self.reply.rows.push(values(&row).ok_or(ProtocolError::Malformed("row"))?);
                }
                Event::Prepared { statement, parameters } => {
                    if let State::Preparing(index) = self.state {
                        self.handles[index] = Some(Handle { statement, parameters });
                    }
                }
                Event::Error(error) => self.error = Some(error),
                Event::Columns(_) | Event::FileWanted { .. } => {}
            }
        }
        Ok(self.reader.is_done().then(|| self.error.take().map_or(Ok(()), Err)))
    }
}

fn note(reply: &mut Reply, status: &mut u16, ok: &Completion) {
    reply.affected_rows += ok.affected_rows;
    if ok.last_insert_id != 0 {
        reply.last_insert_id = ok.last_insert_id;
    }
    *status = ok.status;
}

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

/// One deadline of one session slot. It is void once the epoch of the slot has moved on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Deadline {
    pub at: Nanos,
    pub slot: u32,
    pub epoch: u32,
}

/// Deadlines in the order in which they were set. Each is a constant time after an instant that never falls,
/// so the first is the earliest. Void ones are dropped when they come to the front, and all at once when they
/// are more than half, so that the length stays below twice the slots and some.
#[derive(Debug, Default)]
pub(super) struct Deadlines(VecDeque<Deadline>);

/// Below this length there is nothing to tidy.
const LENGTH_SMALL: usize = 64;

impl Deadlines {
    /// Adds one; `is_live` tells those that still hold, of which there are at most `slots`.
    pub fn push(&mut self, deadline: Deadline, slots: usize, is_live: impl Fn(&Deadline) -> bool) {
        if self.0.len() > LENGTH_SMALL + 2 * slots {
            self.0.retain(|deadline| is_live(deadline));
        }
        self.0.push_back(deadline);
    }

    /// The earliest that holds.
    pub fn first(&mut self, is_live: impl Fn(&Deadline) -> bool) -> Option<Deadline> {
        while let Some(&first) = self.0.front() {
            if is_live(&first) {
                return Some(first);
            }
            self.0.pop_front();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn void_deadlines_are_passed_over_and_do_not_pile_up() {
        let mut deadlines = Deadlines::default();
        let is_live = |deadline: &Deadline| deadline.epoch >= 990;
        for epoch in 0..1_000 {
            deadlines.push(Deadline { at: Nanos(epoch.into()), slot: 0, epoch }, 10, is_live);
            assert!(deadlines.0.len() <= LENGTH_SMALL + 2 * 10 + 1);
        }
        assert_eq!(deadlines.first(is_live), Some(Deadline { at: Nanos(990), slot: 0, epoch: 990 }));
    }
}
