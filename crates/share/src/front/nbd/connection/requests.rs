//! What a client asks for becomes work of the engine.

use super::{Connection, Context, Phase, REQUESTS_MAX, WEIGHT_MAX};
use crate::front::nbd::memory::{Asked, Kind, weight};
use crate::front::nbd::payload::Payload;
use crate::{Reply, Request, Work};
use evenkeel_wire::nbd;
use evenkeel_wire::nbd::{Command, Failure};

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
}
