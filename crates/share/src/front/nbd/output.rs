//! Answers on their way to a client.

use super::memory::{Held, Memory};
use super::payload::Stream;
use crate::Buffer;
use evenkeel_os::PARTS;
use evenkeel_wire::nbd::Head;
use std::collections::VecDeque;
use std::io;
use std::io::IoSlice;

struct Answer {
    /// What the handshake says has none.
    head: Option<Head>,
    buffer: Buffer,
    /// Memory that it is counted with.
    held: Held,
}

impl Answer {
    fn parts(&self) -> [&[u8]; 2] {
        let head: &[u8] = if let Some(head) = &self.head { head.as_slice() } else { &[] };
        [head, self.buffer.as_slice()]
    }

    fn len(&self) -> usize {
        self.parts().iter().map(|part| part.len()).sum()
    }
}

#[derive(Default)]
pub(super) struct Output {
    answers: VecDeque<Answer>,
    /// Bytes of the first one that are sent, and those of all that ever were.
    sent: usize,
    total: u64,
    /// Memory that all of them are counted with.
    held: usize,
}

/// How far sending came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    All,
    /// The socket takes no more for now.
    Full,
}

impl Output {
    pub fn say(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.add(None, Buffer::from_slice(bytes), Held::default());
        }
    }

    /// An answer. The buffer and the memory it is counted with go back when it is sent.
    pub fn answer(&mut self, head: Head, buffer: Buffer, held: Held) {
        self.add(Some(head), buffer, held);
    }

    fn add(&mut self, head: Option<Head>, buffer: Buffer, held: Held) {
        self.held += held.bytes;
        self.answers.push_back(Answer { head, buffer, held });
    }

    pub fn len(&self) -> usize {
        self.answers.len()
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    /// Memory of those that are not sent.
    pub fn held(&self) -> usize {
        self.held
    }

    pub fn flush(&mut self, stream: &mut Stream, memory: &mut Memory) -> io::Result<Sent> {
        while !self.answers.is_empty() {
            let (sent, whole) = match self.send(stream) {
                Ok(sent) => sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Sent::Full),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.advance(sent, memory);
            if !whole {
                return Ok(Sent::Full);
            }
        }
        Ok(Sent::All)
    }

    /// Bytes sent, and whether those were all that it tried to send.
    fn send(&self, stream: &mut Stream) -> io::Result<(usize, bool)> {
        let mut parts = [IoSlice::new(&[]); PARTS];
        let (mut count, mut skip, mut bytes) = (0, self.sent, 0);
        let all = self.answers.iter().flat_map(Answer::parts);
        for part in all {
            let rest = &part[skip.min(part.len())..];
            skip -= part.len() - rest.len();
            if rest.is_empty() {
                continue;
            }
            if count == PARTS {
                break;
            }
            parts[count] = IoSlice::new(rest);
            (count, bytes) = (count + 1, bytes + rest.len());
        }
        let sent = stream.send_parts(&parts[..count])?;
        // TLS takes a piece at a time, and more as long as the socket took that.
        Ok((sent, sent == bytes || stream.keeps() && !stream.has_unsent()))
    }

    fn advance(&mut self, sent: usize, memory: &mut Memory) {
        self.sent += sent;
        self.total += sent as u64;
        while let Some(first) = self.answers.front()
            && self.sent >= first.len()
        {
            self.sent -= first.len();
            self.drop_first(memory);
        }
    }

    fn drop_first(&mut self, memory: &mut Memory) {
        if let Some(Answer { buffer, held, .. }) = self.answers.pop_front() {
            self.held -= held.bytes;
            memory.give(buffer, held);
        }
    }

    /// The client is gone.
    pub fn clear(&mut self, memory: &mut Memory) {
        while !self.answers.is_empty() {
            self.drop_first(memory);
        }
        self.sent = 0;
    }
}
