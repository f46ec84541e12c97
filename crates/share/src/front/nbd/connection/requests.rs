//! What a client asks for becomes work of the engine.

use super::{Connection, Context, Phase, REQUESTS_MAX, WEIGHT_MAX};
use crate::front::nbd::memory::{Asked, Held, Kind, Memory, weight};
use crate::front::nbd::output::Sent;
use crate::front::nbd::payload::Payload;
use crate::{Answer, Errno, Reply, Request, Work};
use evenkeel_wire::nbd;
use evenkeel_wire::nbd::{Command, Failure, Head};
use std::io;

impl Connection {
    /// Whether it may have one more that is not answered, or whose answer is not sent.
    fn has_room(&self) -> bool {
        self.asked.len() + self.output.len() < REQUESTS_MAX
    }

    /// Takes a request, or the head of a write; whether there was room for it.
    pub(super) fn begin(&mut self, request: nbd::Request, context: &mut Context<'_>) -> bool {
        if !self.has_room() {
            return false;
        }
        let nbd::Request { command, cookie, offset, length } = request;
        let bytes = u64::from(length);
        if self.asked.weight() > 0 && self.asked.weight() + weight(length) > WEIGHT_MAX {
            return false;
        }
        let (work, kind) = match command {
            Command::Disconnect => {
                self.stop(context.memory);
                return true;
            }
            Command::Refused { payload } => {
                self.payload = Payload::Skip { left: payload as usize, cookie };
                self.finish_payload(context);
                return true;
            }
            // Nothing to be done; a disk need not know how to.
            Command::Read | Command::Write { .. } | Command::Trim { .. } | Command::Zero { .. }
                if length == 0 =>
            {
                self.say(cookie, Ok(()));
                return true;
            }
            Command::Read | Command::Write { .. } => {
                return self.begin_with_buffer(request, context);
            }
            Command::Flush => (Work::Flush, Kind::Other),
            Command::Trim { durable } => (Work::Trim { offset, bytes }, Kind::Trim { durable }),
            Command::Zero { durable, allocate } => {
                (Work::Zero { offset, bytes, allocate, durable }, Kind::Other)
            }
        };
        let Some(held) = context.memory.take_none(self.holds()) else { return false };
        self.held += held.bytes;
        self.ask(Asked { cookie, length, kind, held }, work, context);
        true
    }

    fn begin_with_buffer(&mut self, request: nbd::Request, context: &mut Context<'_>) -> bool {
        let nbd::Request { command, cookie, offset, length } = request;
        let Some((buffer, held)) = context.memory.take(length as usize, self.holds()) else { return false };
        self.held += held.bytes;
        self.turn = None;
        match command {
            Command::Write { durable } => {
                self.payload = Payload::Write { buffer, filled: 0, held, cookie, offset, durable };
            }
            _ => {
                let asked = Asked { cookie, length, kind: Kind::Read, held };
                self.ask(asked, Work::Read { offset, buffer }, context);
            }
        }
        true
    }

    /// Asks for the write whose bytes are all there, or refuses it; whether one was.
    pub(super) fn finish_payload(&mut self, context: &mut Context<'_>) -> bool {
        let Some((cookie, write)) = self.payload.finish() else { return false };
        self.payloads += 1;
        match write {
            Some((work, held)) => {
                self.ask(Asked { cookie, length: 0, kind: Kind::Other, held }, work, context)
            }
            None => self.say(cookie, Err(Failure::Invalid)),
        }
        true
    }

    fn ask(&mut self, asked: Asked, work: Work, context: &mut Context<'_>) {
        let Phase::Serving { disk, .. } = self.phase else { return };
        let reply = Reply::Nbd { connection: context.connection, cookie: self.asked.add(asked) };
        context.requests.push(Request { disk, work, reply });
    }

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
