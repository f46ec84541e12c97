//! One client and its connection to the server.
//!
//! connecting -> login -> relay -> parting. Whatever happens, the session's permit goes back to the gate only
//! when nothing of it runs at the server any more: after the last reply, after the answer to a reset, or after
//! the server has ended the connection.

mod parting;

use crate::admission::{Rejection, SessionId};
use crate::guard::link::{Link, Received};
use crate::guard::login::{Accepted, Login, LoginEnd};
use crate::guard::plan::TenantBy;
use crate::guard::refusal::Refusal;
use crate::guard::relay::{Leave, Permit, Relay, Todo};
use crate::guard::shared::Desk;
use crate::sys::Socket;
use evenkeel_core::Nanos;
use std::io;

/// Largest read where short commands are likely: what must wait is kept, so that it should be little.
const SMALL_READ: usize = 16 << 10;
/// Reads of one session before others have their turn.
const ROUNDS: usize = 32;
/// Time for a connection to the server.
const CONNECT: Nanos = Nanos::from_secs(10);
/// Time for a client to read the last words and to leave.
const PARTING: Nanos = Nanos::from_secs(2);

/// What a thread lends to the session that it serves.
pub struct Context<'a> {
    pub desk: Desk<'a>,
    pub buffer: &'a mut [u8],
}

/// Whether the session goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Open,
    /// There is more to do than was its turn.
    Again,
    Closed,
}

enum Stage {
    Connecting,
    Login(Box<Login>),
    Relay(Box<Relay>),
    /// The client reads what is left for it; with a permit, the server ends.
    Parting(Option<Box<Relay>>),
}

/// A session.
pub struct Session {
    pub id: SessionId,
    pub client: Link,
    pub server: Link,
    stage: Stage,
    /// The client came over a unix socket.
    local: bool,
    /// When the stage began, where that matters.
    since: Nanos,
    /// The client sends nothing any more.
    client_ended: bool,
    /// The client does not listen any more either.
    client_deaf: bool,
    /// The other end of the address list, for the next attempt to connect.
    pub attempts: usize,
}

/// Why a stage ends.
enum End {
    Refusal(Refusal),
    Server,
    Client,
    /// Nothing is left to say or to wait for.
    Over,
}

impl From<Refusal> for End {
    fn from(refusal: Refusal) -> Self {
        Self::Refusal(refusal)
    }
}

impl Session {
    pub fn new(id: SessionId, client: Socket, server: Socket, local: bool, now: Nanos) -> Self {
        Self {
            id,
            client: Link::new(client),
            server: Link::new(server),
            stage: Stage::Connecting,
            local,
            since: now,
            client_ended: false,
            client_deaf: false,
            attempts: 1,
        }
    }

    /// Whether it has to be looked at from time to time.
    pub fn is_watched(&self) -> bool {
        match &self.stage {
            Stage::Connecting | Stage::Parting(_) => true,
            Stage::Login(_) => false,
            Stage::Relay(relay) => relay.permit == Permit::Held,
        }
    }

    /// Whether it could end now without anybody noticing.
    pub fn is_idle(&self) -> bool {
        matches!(&self.stage, Stage::Relay(relay) if relay.is_idle())
    }

    /// The connection to the server was made or refused.
    pub fn connected(&mut self) -> io::Result<()> {
        if matches!(self.stage, Stage::Connecting) {
            self.server.socket().connected()?;
            self.stage = Stage::Login(Box::new(Login::new()));
        }
        Ok(())
    }

    pub fn is_connecting(&self) -> bool {
        matches!(self.stage, Stage::Connecting)
    }

    /// No address of the server takes connections.
    pub fn unreachable(&mut self, error: io::Error, cx: &mut Context<'_>) -> Flow {
        cx.desk.shared.stats.unreachable.add();
        self.end(End::Refusal(Refusal::Unreachable(error)), cx)
    }

    /// Moves what can be moved.
    pub fn pump(&mut self, cx: &mut Context<'_>) -> Flow {
        for _ in 0..ROUNDS {
            let moved = match &mut self.stage {
                Stage::Connecting => Ok(false),
                Stage::Login(_) => self.log_in(cx),
                Stage::Relay(_) => self.relay(cx),
                Stage::Parting(_) => self.part(cx),
            };
            match moved {
                Ok(true) if !self.is_exhausted() => {}
                Ok(_) => return Flow::Open,
                Err(end) => match self.end(end, cx) {
                    Flow::Open => {}
                    flow => return flow,
                },
            }
        }
        Flow::Again
    }

    /// Whether another turn would find nothing to move. Asked after each command and each reply, so that both sides need
    /// not be looked at once more.
    fn is_exhausted(&self) -> bool {
        let settled = matches!(&self.stage, Stage::Relay(relay) if !relay.look_again);
        settled && !self.server.is_readable() && !self.client.is_readable() && !self.client.is_ending()
    }

    /// The gate has decided about what waits.
    pub fn admitted(&mut self) {
        if let Stage::Relay(relay) = &mut self.stage {
            relay.admitted();
        }
    }

    /// The gate has refused what waits.
    pub fn rejected(&mut self, rejection: Rejection, cx: &mut Context<'_>) -> Flow {
        let waited = match &mut self.stage {
            Stage::Relay(relay) => relay.rejected(),
            _ => false,
        };
        if !waited {
            return Flow::Open;
        }
        match self.refuse_command(rejection, cx) {
            Ok(()) => self.pump(cx),
            Err(end) => self.end(end, cx),
        }
    }

    /// Ends a session whose transaction has been idle for too long.
    pub fn close_idle(&mut self, cx: &mut Context<'_>) -> Flow {
        match self.stage {
            Stage::Relay(_) => self.end(End::Refusal(Refusal::Idle), cx),
            _ => Flow::Open,
        }
    }

    /// What time alone brings about.
    pub fn tick(&mut self, cx: &mut Context<'_>) -> Flow {
        let now = cx.desk.now;
        match &mut self.stage {
            Stage::Connecting if now - self.since > CONNECT => {
                self.unreachable(io::ErrorKind::TimedOut.into(), cx)
            }
            Stage::Parting(relay) if now - self.since > PARTING => {
                self.client_deaf = true;
                if relay.is_none() { Flow::Closed } else { Flow::Open }
            }
            Stage::Relay(relay) => {
                relay.lend_if_idle(&mut cx.desk);
                Flow::Open
            }
            _ => Flow::Open,
        }
    }

    fn log_in(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        let Stage::Login(login) = &mut self.stage else { return Ok(false) };
        let shared = cx.desk.shared;
        let said = if login.is_clients_turn() {
            match self.client.is_readable().then(|| self.client.receive(cx.buffer)) {
                None | Some(Ok(Received::Nothing)) => return Ok(false),
                Some(Ok(Received::Bytes(count))) => {
                    let bytes = &cx.buffer[..count];
                    let (client, server) = (&mut self.client, &mut self.server);
                    login.client_said(bytes, client, server, shared, self.local).map(|()| None)
                }
                Some(Ok(Received::End) | Err(_)) => return Err(End::Client),
            }
        } else {
            match self.server.is_readable().then(|| self.server.receive(cx.buffer)) {
                None | Some(Ok(Received::Nothing)) => return Ok(false),
                Some(Ok(Received::Bytes(count))) => {
                    login.server_said(&cx.buffer[..count], &mut self.client, shared)
                }
                Some(Err(error)) if self.server.has_tls() => Err(Refusal::BackendTls(error).into()),
                Some(Ok(Received::End) | Err(_)) => Err(Refusal::ServerGone.into()),
            }
        };
        match said {
            Ok(None) => Ok(true),
            Ok(Some(accepted)) => self.begin_relay(accepted, cx).map(|()| true),
            Err(LoginEnd::Refused) => Err(End::Server),
            Err(LoginEnd::Lost) => Err(End::Client),
            Err(LoginEnd::Guard(refusal)) => Err(refusal.into()),
        }
    }

    fn begin_relay(&mut self, accepted: Accepted, cx: &mut Context<'_>) -> Result<(), End> {
        let Stage::Login(login) = &mut self.stage else { return Ok(()) };
        let shared = cx.desk.shared;
        shared.stats.logins.add();
        let name = match shared.plan.tenants {
            TenantBy::User => &accepted.client.user,
            TenantBy::Database => &accepted.client.database,
        };
        let tenant = cx.desk.tenant(&String::from_utf8_lossy(name));
        let user = &accepted.client.user;
        let administrator = shared.plan.administrators.iter().any(|name| name.as_bytes() == user);
        let mut relay = Relay::new(self.id, tenant, &accepted, administrator, cx.desk.now);
        relay.begin_with(std::mem::take(&mut login.early));
        let mut todo = Todo::default();
        match shared.plan.backend.is_local() {
            true => relay.ask_account(accepted.packet, &mut todo),
            false => todo.client = accepted.packet,
        }
        self.stage = Stage::Relay(Box::new(relay));
        self.carry_out(&todo)
    }

    fn relay(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        let down = self.down(cx)?;
        let up = self.up(cx)?;
        Ok(down || up)
    }

    /// From the server to the client.
    fn down(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        let Stage::Relay(relay) = &mut self.stage else { return Ok(false) };
        if !self.server.is_readable() || self.client.is_blocked() && !self.client_deaf {
            return Ok(false);
        }
        let count = match self.server.receive(cx.buffer) {
            Ok(Received::Bytes(count)) => count,
            Ok(Received::Nothing) => return Ok(false),
            Ok(Received::End) | Err(_) => return Err(End::Server),
        };
        let mut todo = Todo::default();
        let range = relay.understand(&cx.buffer[..count], &mut cx.desk, &mut todo)?;
        if !range.is_empty() && !self.client_deaf {
            self.client_deaf = self.client.send(&cx.buffer[range]).is_err();
        }
        self.carry_out(&todo)?;
        if self.client_deaf && !self.client_ended || self.client_ended && self.is_quiet() {
            self.client_left(cx)?;
        }
        Ok(true)
    }

    fn is_quiet(&self) -> bool {
        matches!(&self.stage, Stage::Relay(relay) if relay.is_quiet())
    }

    /// From the client to the server.
    fn up(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        let Stage::Relay(relay) = &mut self.stage else { return Ok(false) };
        if self.client_ended || self.server.is_blocked() {
            return Ok(false);
        }
        if !relay.takes_commands() {
            return self.notice_client_end(cx);
        }
        let held = relay.held.len();
        let room = if relay.is_in_long_command() { cx.buffer.len() } else { SMALL_READ.max(2 * held) };
        let room = room.min(cx.buffer.len());
        cx.buffer[..held].copy_from_slice(&relay.held);
        let mut count = held;
        if !relay.looks_again() {
            if !self.client.is_readable() {
                return Ok(false);
            }
            match self.client.receive(&mut cx.buffer[held..room]) {
                Ok(Received::Bytes(received)) => count += received,
                Ok(Received::Nothing) => return Ok(false),
                Ok(Received::End) => return self.client_left(cx).map(|()| true),
                Err(_) => {
                    self.client_deaf = true;
                    return self.client_left(cx).map(|()| true);
                }
            }
        }
        self.forward(count, cx)?;
        Ok(true)
    }

    /// Sends of the first `count` bytes of the buffer what may go, and keeps the rest.
    fn forward(&mut self, count: usize, cx: &mut Context<'_>) -> Result<(), End> {
        let Stage::Relay(relay) = &mut self.stage else { return Ok(()) };
        let mut todo = Todo::default();
        let bytes = &cx.buffer[..count];
        let passed = match relay.take(bytes, &mut cx.desk, &mut todo) {
            Ok(passed) => passed,
            Err(refusal) => {
                relay.held = bytes.to_vec();
                return Err(refusal.into());
            }
        };
        if passed > 0 {
            self.server.send(&bytes[..passed]).map_err(|_| End::Server)?;
        }
        // Mostly nothing is left, and an idle session owns no buffer.
        relay.held = if passed < count { bytes[passed..].to_vec() } else { Vec::new() };
        match todo.refused {
            Some(rejection) => self.refuse_command(rejection, cx),
            None => Ok(()),
        }
    }

    fn refuse_command(&mut self, rejection: Rejection, cx: &mut Context<'_>) -> Result<(), End> {
        let Stage::Relay(relay) = &mut self.stage else { return Ok(()) };
        if !relay.drop_refused() {
            return Err(Refusal::Gate(rejection).into());
        }
        cx.desk.shared.stats.refused.add();
        let mut out = Vec::new();
        Refusal::Gate(rejection).put(&mut out, 1, true);
        self.client.send(&out).map_err(|_| End::Client)
    }

    /// A client whose command waits is not read; its end is noticed all the same.
    fn notice_client_end(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        let waits = matches!(&self.stage, Stage::Relay(relay) if relay.permit == Permit::Waiting);
        if !waits || !self.client.is_ending() {
            return Ok(false);
        }
        self.client_left(cx).map(|()| true)
    }

    fn client_left(&mut self, cx: &mut Context<'_>) -> Result<(), End> {
        let Stage::Relay(relay) = &mut self.stage else { return Ok(()) };
        self.client_ended = true;
        let mut todo = Todo::default();
        match relay.leave(&mut cx.desk, &mut todo) {
            Leave::Close => return Err(End::Over),
            Leave::EndServer => self.server.end(),
            Leave::Drain | Leave::AwaitEnd => {}
        }
        self.carry_out(&todo)
    }

    fn carry_out(&mut self, todo: &Todo) -> Result<(), End> {
        if !todo.client.is_empty() {
            self.client.send(&todo.client).map_err(|_| End::Client)?;
        }
        if !todo.server.is_empty() {
            self.server.send(&todo.server).map_err(|_| End::Server)?;
        }
        if todo.finished { Err(End::Over) } else { Ok(()) }
    }
}
