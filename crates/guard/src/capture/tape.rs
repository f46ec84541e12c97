//! One session's part of a capture: commands on their way, and what is said to them.

use super::{Capture, UNFINISHED_MAX, mask};
use evenkeel_wire::capture::{Answer, Asked, COMMAND_MAX, LeftOut, Opened, Record, Why};
use evenkeel_wire::packet::{HEADER_BYTES, PAYLOAD_MAX};
use evenkeel_wire::relay::{CommandKind, Expect, Reply};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// It is told what passes, in order; dropped, it closes the session.
#[derive(Debug)]
pub struct Tape {
    capture: Arc<Capture>,
    session: u64,
    /// Commands without a whole answer, the oldest first.
    pending: VecDeque<Pending>,
    /// Commands for which there was no room, and which no record names yet.
    behind: u64,
}

#[derive(Debug)]
struct Pending {
    kind: CommandKind,
    start: u64,
    /// As they came, with the headers of packets.
    packets: Vec<u8>,
    is_whole: bool,
    left_out: Option<Why>,
    answer: Answer,
}

impl Tape {
    /// `None` where nothing is captured.
    pub fn begin(capture: Option<&Arc<Capture>>, (user, database): (&[u8], &[u8])) -> Option<Box<Self>> {
        let capture = capture?;
        let session = 1 + capture.sessions.fetch_add(1, Ordering::Relaxed);
        let opened = Opened { session, at: capture.now(), user, database, is_late: false };
        capture.put(&Record::Opened(opened), 0);
        Some(Box::new(Self { capture: Arc::clone(capture), session, pending: VecDeque::new(), behind: 0 }))
    }

    /// A command goes to the server; its bytes follow.
    pub fn command(&mut self, kind: CommandKind) {
        let left_out = match kind {
            _ if self.capture.is_over() => Some(Why::Behind),
            CommandKind::ChangeUser | CommandKind::BinlogDump | CommandKind::RegisterReplica => {
                Some(Why::NotRepeatable)
            }
            CommandKind::Execute | CommandKind::BulkExecute | CommandKind::LongData
                if self.capture.settings.redact =>
            {
                Some(Why::NotRepeatable)
            }
            _ => None,
        };
        let (start, answer) = (self.capture.now(), Answer::default());
        let packets = Vec::new();
        self.pending.push_back(Pending { kind, start, packets, is_whole: false, left_out, answer });
    }

    /// These bytes of the client's went to the server; `is_whole` where the last command ends with them.
    pub fn passed(&mut self, bytes: &[u8], is_whole: bool) {
        let Some(last) = self.pending.back_mut().filter(|last| !last.is_whole) else { return };
        last.is_whole = is_whole;
        if last.left_out.is_none() {
            let all = self.capture.unfinished.fetch_add(bytes.len(), Ordering::Relaxed);
            last.packets.extend_from_slice(bytes);
            if last.packets.len() > COMMAND_MAX || all > UNFINISHED_MAX {
                let length = std::mem::take(&mut last.packets).len();
                self.capture.unfinished.fetch_sub(length, Ordering::Relaxed);
                last.left_out = Some(if length > COMMAND_MAX { Why::TooLong } else { Why::Behind });
            }
        }
        if is_whole {
            self.write_unanswered();
        }
    }

    /// So many bytes came from the server.
    pub fn heard(&mut self, bytes: usize) {
        if let Some(first) = self.pending.front_mut() {
            *first.answer.bytes.get_or_insert(0) += bytes as u64;
        }
    }

    /// The server said this to the oldest command.
    pub fn reply(&mut self, reply: Reply) {
        let Some(first) = self.pending.front_mut() else { return };
        match reply {
            Reply::Result { rows, affected, inserted, .. } => {
                // Of several results the first: the numbers that follow it are the server's again.
                let is_first = first.answer.rows.is_none();
                first.answer.inserted =
                    first.answer.inserted.or((is_first && inserted > 0).then_some(inserted));
                *first.answer.rows.get_or_insert(0) += rows;
                *first.answer.affected.get_or_insert(0) += affected;
            }
            Reply::Error { code } => first.answer.error = Some(code),
            Reply::Prepared { statement } => first.answer.statement = Some(statement),
            // What the client's file has is not kept.
            Reply::FileRequest | Reply::StreamBegins => first.left_out = Some(Why::NotRepeatable),
            Reply::Text | Reply::LoginRequest | Reply::Farewell { .. } => {}
        }
        if reply.is_end() {
            let end = self.capture.now();
            self.write_first(Some(end));
            self.write_unanswered();
        }
    }

    /// Commands that nobody answers are done once they are whole.
    fn write_unanswered(&mut self) {
        while self
            .pending
            .front()
            .is_some_and(|first| first.is_whole && first.kind.expect() == Expect::Nothing)
        {
            self.write_first(None);
        }
    }

    fn write_first(&mut self, end: Option<u64>) {
        let Some(Pending { kind, start, packets, is_whole, left_out, answer }) = self.pending.pop_front()
        else {
            return;
        };
        self.capture.unfinished.fetch_sub(packets.len(), Ordering::Relaxed);
        let session = self.session;
        // Nothing is asked of a table by these.
        if matches!(kind, CommandKind::Quit | CommandKind::Ping | CommandKind::Statistics) {
            return;
        }
        let mut command = payload(packets);
        let is_text = matches!(kind, CommandKind::Query | CommandKind::Prepare);
        let is_left = !is_whole || command.is_empty() || is_text && mask::has_password(&command[1..]);
        let left_out = left_out.or(is_left.then_some(Why::NotRepeatable));
        if let Some(why) = left_out {
            self.leave_out(start, why);
            return;
        }
        if is_text && self.capture.settings.redact {
            mask::mask(&mut command[1..]);
        }
        let asked = Asked { session, start, end, command: &command, answer };
        self.say_behind(start);
        if self.behind > 0 {
            self.capture.left_out.fetch_add(1, Ordering::Relaxed);
        }
        if self.behind > 0 || !self.capture.put(&Record::Asked(asked), 1) {
            self.behind += 1;
        }
    }

    /// Names the commands for which there was no room, once there is some: before those that follow.
    fn say_behind(&mut self, at: u64) {
        let left = LeftOut { session: self.session, at, commands: self.behind, why: Why::Behind };
        if self.behind > 0 && self.capture.put(&Record::LeftOut(left), 0) {
            self.behind = 0;
        }
    }

    fn leave_out(&self, at: u64, why: Why) {
        self.capture.left_out.fetch_add(1, Ordering::Relaxed);
        self.capture.put(&Record::LeftOut(LeftOut { session: self.session, at, commands: 1, why }), 0);
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        while !self.pending.is_empty() {
            self.write_first(None);
        }
        self.say_behind(self.capture.now());
        let closed = Record::Closed { session: self.session, at: self.capture.now() };
        self.capture.put(&closed, 0);
    }
}

/// The command without the headers of its packets.
fn payload(mut packets: Vec<u8>) -> Vec<u8> {
    if packets.len() < HEADER_BYTES + PAYLOAD_MAX {
        packets.drain(..HEADER_BYTES.min(packets.len()));
        return packets;
    }
    let pieces = packets.chunks(HEADER_BYTES + PAYLOAD_MAX);
    pieces.flat_map(|piece| piece.get(HEADER_BYTES..).unwrap_or_default()).copied().collect()
}
