//! A session with its two connections: bytes are moved and what the session wants is done. It decides nothing.

use super::link::{Link, Received, Transport};
use super::session::{Action, Context, Event, Session, Side};
use evenkeel_core::Nanos;
use evenkeel_core::admission::Notice;
use evenkeel_os::tls::{Tls, TlsSetup};
use evenkeel_os::{Endpoint, Ready};
use std::io;
use std::sync::Arc;

/// Largest read where short commands are likely: what must wait is kept, so that it should be little.
const SMALL_READ: usize = 16 << 10;
/// Reads of one session before others have their turn.
const ROUNDS: usize = 32;

/// Whether the session goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Open,
    /// There is more to do than was its turn.
    Again,
    Closed,
}

/// How the connection to the server is made.
#[derive(Default)]
pub struct Attempt {
    /// The addresses, as they were when it began.
    pub endpoints: Arc<Vec<Endpoint>>,
    /// The first server by the gate's count that these lead to.
    pub led: u32,
    /// Addresses that were tried, the present one included.
    pub tried: usize,
    /// When the present one was.
    pub since: Nanos,
    /// Its queue of connections was full: it is to be tried again.
    pub full: bool,
}

pub struct Pair<T> {
    pub session: Session,
    pub client: Link<T>,
    pub server: Link<T>,
    pub attempt: Attempt,
    /// Which side says nothing more, and which is gone altogether, as the session knows it.
    over: [bool; 2],
    lost: [bool; 2],
    blocked: bool,
    all_sent: bool,
    closed: bool,
    /// The server said something since the worker looked last.
    heard: bool,
}

/// What a thread lends to the pair that it serves.
pub struct Desk<'a> {
    pub cx: Context<'a>,
    pub tls: &'a TlsSetup,
    pub buffer: &'a mut [u8],
}

impl<T: Transport> Pair<T> {
    pub fn new(session: Session, client: T, server: T, attempt: Attempt) -> Self {
        Self {
            session,
            client: Link::new(client),
            server: Link::new(server),
            attempt,
            over: [false; 2],
            lost: [false; 2],
            blocked: false,
            all_sent: false,
            closed: false,
            heard: false,
        }
    }

    pub fn link(&mut self, side: Side) -> &mut Link<T> {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// A socket has something to read, or room, or has ended.
    pub fn ready(&mut self, side: Side, ready: Ready, desk: &mut Desk<'_>) -> Flow {
        let link = self.link(side);
        if ready.read {
            link.set_readable(ready.ended);
        }
        if ready.write {
            match link.flush() {
                Ok(_) => self.watch_client(desk),
                Err(error) => self.lost(side, error, desk),
            }
        }
        self.pump(desk)
    }

    /// The gate has decided about it.
    pub fn notice(&mut self, notice: Notice, desk: &mut Desk<'_>) -> Flow {
        let event = match notice {
            Notice::Admitted(..) => Event::Admitted,
            Notice::Rejected(_, rejection) => Event::Rejected(rejection),
        };
        self.happens_in_session(event, desk);
        self.pump(desk)
    }

    /// Whether anything is due from the server, if only that it takes what is sent to it: a command that is not answered
    /// may be on its way to a machine that is gone, and its client is not heard meanwhile.
    pub fn awaits_server(&self) -> bool {
        self.session.awaits_server() || self.server.is_blocked()
    }

    /// Gives up a server whose machine does not answer any more, where anything is due from it.
    pub fn look_for_server(&mut self, silence: Nanos, desk: &mut Desk<'_>) -> Flow {
        if self.awaits_server() && self.server.socket().is_lost(silence) {
            self.lost(Side::Server, io::ErrorKind::TimedOut.into(), desk);
        }
        self.pump(desk)
    }

    /// Passes an event to the session, does what it wants, and moves what can be moved.
    pub fn happens(&mut self, event: Event<'_>, desk: &mut Desk<'_>) -> Flow {
        self.happens_in_session(event, desk);
        self.pump(desk)
    }

    /// Whether the server has said something since this was asked last.
    pub fn server_was_heard(&mut self) -> bool {
        std::mem::take(&mut self.heard)
    }

    pub fn pump(&mut self, desk: &mut Desk<'_>) -> Flow {
        for _ in 0..ROUNDS {
            let down = !self.closed && self.hear(Side::Server, desk);
            let up = !self.closed && self.hear(Side::Client, desk);
            match () {
                () if self.closed => return Flow::Closed,
                () if !(down || up) || self.is_exhausted() => return Flow::Open,
                () => {}
            }
        }
        Flow::Again
    }

    /// Whether another turn would find nothing to move.
    fn is_exhausted(&self) -> bool {
        !self.server.is_readable() && !self.client.is_readable() && !self.client.is_ending()
    }

    /// Reads a side, if it is its turn; false where that moved nothing.
    fn hear(&mut self, side: Side, desk: &mut Desk<'_>) -> bool {
        let other_blocked = match side {
            // A client that takes no answers is not asked for more: it could be refused for ever.
            Side::Client => self.server.is_blocked() || self.client.is_blocked(),
            Side::Server => self.client.is_blocked() && !self.session.is_deaf(),
        };
        if self.over[side as usize] {
            return false;
        }
        if other_blocked || !self.session.hears(side) {
            if self.link(side).is_ending() {
                self.happens_in_session(Event::Leaving(side), desk);
            }
            return false;
        }
        let room = match side {
            Side::Client if !self.session.is_in_long_command() => SMALL_READ.min(desk.buffer.len()),
            _ => desk.buffer.len(),
        };
        let link = self.link(side);
        if !link.is_readable() {
            return false;
        }
        match link.receive(&mut desk.buffer[..room]) {
            Ok(Received::Nothing) => return false,
            Ok(Received::Bytes(count)) => {
                self.heard |= side == Side::Server;
                self.said(side, count, desk);
            }
            Ok(Received::End) => {
                self.over[side as usize] = true;
                self.happens_in_session(Event::Ended(side), desk);
            }
            Err(error) => self.lost(side, error, desk),
        }
        true
    }

    fn said(&mut self, side: Side, count: usize, desk: &mut Desk<'_>) {
        self.session.on(Event::Said(side, &desk.buffer[..count]), &mut desk.cx);
        self.perform(side, desk);
    }

    fn lost(&mut self, side: Side, error: io::Error, desk: &mut Desk<'_>) {
        self.over[side as usize] = true;
        if !std::mem::replace(&mut self.lost[side as usize], true) {
            self.happens_in_session(Event::Lost(side, error), desk);
        }
    }

    fn happens_in_session(&mut self, event: Event<'_>, desk: &mut Desk<'_>) {
        self.session.on(event, &mut desk.cx);
        self.perform(Side::Client, desk);
    }

    /// Does what the session wants; `from` is the side whose bytes stand in the buffer.
    fn perform(&mut self, from: Side, desk: &mut Desk<'_>) {
        // Nearly always what was said goes on, and that is all.
        if let [Action::Pass(range)] = desk.cx.actions.as_slice() {
            let passed = self.link(from.other()).send(&desk.buffer[range.clone()]);
            desk.cx.actions.clear();
            if let Err(error) = passed {
                self.lost(from.other(), error, desk);
            }
            return self.watch_client(desk);
        }
        self.perform_all(from, desk);
        self.watch_client(desk);
    }

    fn perform_all(&mut self, from: Side, desk: &mut Desk<'_>) {
        let mut actions = std::mem::take(desk.cx.actions);
        let mut failed = None;
        for action in actions.drain(..) {
            if let Err((side, error)) = self.act(action, from, desk) {
                failed.get_or_insert((side, error));
            }
        }
        // The list goes back with its memory, which the next event needs.
        *desk.cx.actions = actions;
        if let Some((side, error)) = failed {
            self.lost(side, error, desk);
        }
    }

    fn act(&mut self, action: Action, from: Side, desk: &mut Desk<'_>) -> Result<(), (Side, io::Error)> {
        match action {
            Action::Pass(range) => self.send(from.other(), &desk.buffer[range]),
            Action::Send(side, bytes) => self.send(side, &bytes),
            Action::ClientTls(early) => {
                let begun = desk.tls.accept().map_err(io::Error::other);
                let begun =
                    begun.and_then(|connection| self.client.start_tls(Tls::start(connection, &early)?));
                begun.map_err(|error| (Side::Client, error))
            }
            Action::ServerTls => {
                let begun = desk.tls.connect().map_err(io::Error::other);
                let begun = begun.and_then(|connection| self.server.start_tls(Tls::start(connection, &[])?));
                begun.map_err(|error| (Side::Server, error))
            }
            Action::Malformed(why) => {
                desk.cx.stats.count_malformed(self.client.socket().name(), why.to_string());
                Ok(())
            }
            Action::End(side) => {
                self.link(side).end();
                Ok(())
            }
            Action::Close => {
                self.closed = true;
                Ok(())
            }
        }
    }

    fn send(&mut self, side: Side, bytes: &[u8]) -> Result<(), (Side, io::Error)> {
        // A side whose end is known may still listen; one that is lost fails again, which is no new event.
        self.link(side).send(bytes).map_err(|error| (side, error))
    }

    /// Passes on to the session whether its client reads, and when everything has gone out to it.
    fn watch_client(&mut self, desk: &mut Desk<'_>) {
        let blocked = self.client.is_blocked();
        if blocked != self.blocked {
            self.blocked = blocked;
            self.happens_in_session(Event::Blocked(blocked), desk);
        }
        if self.client.has_ended() && !std::mem::replace(&mut self.all_sent, true) {
            self.happens_in_session(Event::AllSent, desk);
        }
    }
}
