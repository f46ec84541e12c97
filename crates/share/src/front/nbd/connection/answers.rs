//! What a client is answered.

use super::{Connection, Phase};
use crate::front::nbd::asked::{Asked, Kind};
use crate::front::nbd::memory::{Held, Memory};
use crate::front::nbd::output::Sent;
use crate::{Answer, Errno, Reply, Request, Work};
use evenkeel_wire::nbd::{Failure, Head};
use std::io;

impl Connection {
    pub(super) fn say(&mut self, cookie: u64, offset: u64, kind: Kind, result: Result<(), Failure>) {
        let head = self.head(cookie, offset, kind, result.map(|()| 0));
        self.output.answer(head, Default::default(), Held::default());
    }

    fn head(&self, cookie: u64, offset: u64, kind: Kind, result: Result<u32, Failure>) -> Head {
        match (&self.phase, kind) {
            (Phase::Serving { agreed, .. }, Kind::Read) if agreed.structured => {
                Head::structured(cookie, offset, result)
            }
            (_, Kind::Holes) => Head::extents(cookie, result),
            _ => Head::simple(cookie, result.map(|_| ())),
        }
    }

    /// Keeps an answer to be sent; what is to be asked before, if anything is.
    pub fn answer(
        &mut self,
        connection: u64,
        number: u64,
        answer: Answer,
        memory: &mut Memory,
    ) -> Option<Request> {
        let asked = self.asked.take(number)?;
        let Phase::Serving { disk, .. } = self.phase else { return None };
        let answer = match (asked.kind, answer) {
            // To trim is a hint, which a disk need not heed.
            (Kind::Trim { .. }, Err(Errno::UNSUPPORTED)) => Ok(Default::default()),
            (Kind::Trim { durable: true }, Ok(_)) if self.stream.is_some() => {
                let cookie = self.asked.add(Asked { kind: Kind::Other, ..asked });
                return Some(Request { disk, work: Work::Flush, reply: Reply::Nbd { connection, cookie } });
            }
            (_, answer) => answer,
        };
        self.held -= asked.held.bytes;
        self.keep(asked, answer, memory);
        None
    }

    fn keep(&mut self, asked: Asked, answer: Answer, memory: &mut Memory) {
        let Asked { cookie, offset, length, kind, held } = asked;
        if self.stream.is_none() {
            return memory.give(answer.unwrap_or_default(), held);
        }
        match answer {
            Ok(buffer) if matches!(kind, Kind::Read | Kind::Holes) => {
                let bytes = if kind == Kind::Holes { buffer.len() as u32 } else { length };
                let head = self.head(cookie, offset, kind, Ok(bytes));
                self.output.answer(head, buffer, held);
            }
            Ok(buffer) => {
                memory.give(buffer, held);
                self.say(cookie, offset, Kind::Other, Ok(()));
            }
            Err(errno) => {
                memory.give(Default::default(), held);
                self.say(cookie, offset, kind, Err(Failure::of_errno(errno.0)));
            }
        }
    }

    pub fn flush(&mut self, memory: &mut Memory) -> io::Result<Sent> {
        let Some(stream) = &mut self.stream else { return Ok(Sent::All) };
        let sent = self.output.flush(stream, memory)?;
        self.emptied += u64::from(sent == Sent::All);
        match stream.flush() {
            Ok(()) => Ok(sent),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Sent::Full),
            Err(error) => Err(error),
        }
    }
}
