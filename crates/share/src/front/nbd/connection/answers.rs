//! What a client is answered.

use super::{Connection, Phase};
use crate::front::nbd::memory::{Asked, Held, Kind, Memory};
use crate::front::nbd::output::Sent;
use crate::{Answer, Errno, Reply, Request, Work};
use evenkeel_wire::nbd::{Failure, Head};
use std::io;

impl Connection {
    pub(super) fn say(&mut self, cookie: u64, result: Result<(), Failure>) {
        self.output.answer(Head::new(cookie, result), Default::default(), Held::default());
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
        let Asked { cookie, kind, held, .. } = asked;
        match answer {
            answer if self.stream.is_none() => memory.give(answer.unwrap_or_default(), held),
            Ok(buffer) if kind == Kind::Read => self.output.answer(Head::new(cookie, Ok(())), buffer, held),
            Ok(buffer) => {
                memory.give(buffer, held);
                self.say(cookie, Ok(()));
            }
            Err(errno) => {
                memory.give(Default::default(), held);
                self.say(cookie, Err(Failure::of_errno(errno.0)));
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
