//! One client and its connection to the server, as a state machine: what both sides say and when they end goes in,
//! what is to be done comes out. It knows no socket and no clock, so that what runs in production is what fuzzing
//! and simulation drive.
//!
//! connecting -> login -> relay -> parting. The session's permit goes back to the gate when nothing of it runs at the
//! server any more: after the last reply, after the answer to a reset, or after the server has ended the connection.
//! Where that is not waited for, the connection is closed under the server: at the deadline of a stop, after a panic, and
//! where nobody is left to take a long result.

mod aside;
mod awake;
mod lanes;
mod login;
mod parting;
mod refuse;
mod relay;
mod terms;
mod understand;

use super::arrivals::Refusal;
use super::seat::{Seat, Standing};
use evenkeel_core::Nanos;
use evenkeel_core::admission::{Rejection, SessionId};
use login::Login;
use refuse::Leave;
use relay::Relay;
use std::sync::Arc;
use terms::End;
pub use terms::{Action, Context, Event, Side, Terms};

/// Bytes of a result that are thrown away for a client that is gone, before the server is left too.
const DISCARDED_MAX: u64 = 1 << 20;

enum Stage {
    Connecting,
    Login(Box<Login>),
    Relay(Box<Relay>),
    /// The client reads what is left for it; with a permit, the server ends.
    Parting(Option<Box<Relay>>),
}

pub struct Session {
    id: SessionId,
    stage: Stage,
    /// The client came over a unix socket, where nobody can read along.
    local: bool,
    client_tls: bool,
    server_tls: bool,
    /// Which server it is connected to, as the gate counts them.
    server: u32,
    /// When the session began, and from its end on when that was.
    since: Nanos,
    client_ended: bool,
    /// The client does not listen any more either.
    client_deaf: bool,
    /// Since when the client has not read what waits for it.
    client_blocked: Option<Nanos>,
    discarded: u64,
}

impl Session {
    pub fn new(id: SessionId, local: bool, now: Nanos) -> Self {
        Self {
            id,
            stage: Stage::Connecting,
            local,
            client_tls: false,
            server_tls: false,
            server: 0,
            since: now,
            client_ended: false,
            client_deaf: false,
            client_blocked: None,
            discarded: 0,
        }
    }

    pub fn id(&self) -> SessionId {
        self.id
    }

    pub fn is_connecting(&self) -> bool {
        matches!(self.stage, Stage::Connecting)
    }

    /// Since when its client has been trying to log in.
    pub fn login_since(&self) -> Option<Nanos> {
        matches!(self.stage, Stage::Connecting | Stage::Login(_)).then_some(self.since)
    }

    /// Whether it has to hear of time that passes.
    pub fn is_watched(&self) -> bool {
        match &self.stage {
            Stage::Connecting | Stage::Login(_) | Stage::Parting(_) => true,
            Stage::Relay(relay) => relay.is_watched(),
        }
    }

    pub fn awaits_server(&self) -> bool {
        match &self.stage {
            Stage::Connecting => false,
            Stage::Login(_) => true,
            Stage::Relay(relay) => self.client_ended || relay.awaits_server(),
            Stage::Parting(relay) => relay.is_some(),
        }
    }

    /// Whether it could end now without anybody noticing.
    pub fn is_idle(&self) -> bool {
        matches!(&self.stage, Stage::Relay(relay) if relay.is_idle())
    }

    /// Whether so many bytes of a command are still to come that large reads pay.
    pub fn is_in_long_command(&self) -> bool {
        matches!(&self.stage, Stage::Relay(relay) if relay.is_in_long_command())
    }

    /// The server that it counts at, once it is logged in.
    pub fn server(&self) -> Option<u32> {
        match &self.stage {
            Stage::Relay(relay) | Stage::Parting(Some(relay)) => Some(relay.server()),
            _ => None,
        }
    }

    /// Whether its client takes nothing any more, so that what the server says need not wait for it.
    pub fn is_deaf(&self) -> bool {
        self.client_deaf
    }

    /// What it has of the gate.
    pub fn standing(&self) -> Option<Standing> {
        match &self.stage {
            Stage::Relay(relay) | Stage::Parting(Some(relay)) => relay.standing(),
            _ => None,
        }
    }

    /// Bytes of the client's that it keeps because they may not go yet.
    pub fn held(&self) -> usize {
        match &self.stage {
            Stage::Relay(relay) => relay.held.len(),
            Stage::Login(login) => login.held(),
            _ => 0,
        }
    }

    /// Commands that went to the server, and whose answers are not all there.
    pub fn under_way(&self) -> usize {
        match &self.stage {
            Stage::Relay(relay) | Stage::Parting(Some(relay)) => relay.replies.pending(),
            _ => 0,
        }
    }

    /// Whether what that side says is wanted now.
    pub fn hears(&self, side: Side) -> bool {
        match (&self.stage, side) {
            (Stage::Connecting, _) => false,
            (Stage::Login(login), Side::Client) => login.is_clients_turn(),
            (Stage::Relay(relay), Side::Client) => relay.takes_commands() && !self.client_ended,
            (Stage::Parting(_), Side::Client) => !self.client_deaf && !self.client_ended,
            (Stage::Login(_) | Stage::Relay(_), Side::Server) => true,
            (Stage::Parting(relay), Side::Server) => relay.is_some(),
        }
    }

    /// Takes an event. What is to be done stands in the context, which has to be done before the next event.
    pub fn on(&mut self, event: Event<'_>, cx: &mut Context<'_>) {
        let done = match (&self.stage, event) {
            (Stage::Connecting, event) => self.connecting(event, cx),
            (Stage::Login(_), event) => self.log_in(event, cx),
            (Stage::Relay(_), event) => self.relay(event, cx),
            (Stage::Parting(_), event) => self.part(event, cx),
        };
        if let Err(end) = done {
            self.end(end, cx);
        }
    }

    fn connecting(&mut self, event: Event<'_>, cx: &mut Context<'_>) -> Result<(), End> {
        match event {
            Event::Connected { server } => {
                self.server = server;
                self.stage = Stage::Login(Box::new(Login::new(self.local)));
                Ok(())
            }
            Event::Unreachable(error) => {
                cx.stats.count_unreachable(error.to_string());
                Err(Refusal::Unreachable(error).into())
            }
            event => self.login_hangs(&event, cx),
        }
    }

    /// What ends a login that does not go on by itself.
    fn login_hangs(&self, event: &Event<'_>, cx: &Context<'_>) -> Result<(), End> {
        match event {
            Event::Leaving(Side::Client) | Event::Ended(Side::Client) | Event::Lost(Side::Client, _) => {
                Err(End::Client)
            }
            Event::Tick if cx.now - self.since < cx.terms.plan.login_max => Ok(()),
            Event::Tick | Event::GiveWay => {
                cx.stats.login_timeouts.add();
                Err(Refusal::LoginTooSlow.into())
            }
            _ => Ok(()),
        }
    }

    fn log_in(&mut self, event: Event<'_>, cx: &mut Context<'_>) -> Result<(), End> {
        let Stage::Login(login) = &mut self.stage else { return Ok(()) };
        let said = match event {
            Event::Said(Side::Client, bytes) => login.client_said(bytes, cx).map(|()| None),
            Event::Said(Side::Server, bytes) => login.server_said(bytes, cx),
            Event::Lost(Side::Server, error) if self.server_tls => Err(Refusal::BackendTls(error).into()),
            Event::Ended(Side::Server) | Event::Lost(Side::Server, _) => Err(Refusal::ServerGone.into()),
            event => return self.login_hangs(&event, cx),
        };
        self.client_tls = login.client_tls;
        self.server_tls = login.server_tls;
        match said? {
            Some(accepted) => self.begin_relay(accepted, cx),
            None => Ok(()),
        }
    }

    fn begin_relay(&mut self, accepted: login::Accepted, cx: &mut Context<'_>) -> Result<(), End> {
        let Stage::Login(login) = &mut self.stage else { return Ok(()) };
        cx.stats.logins.add();
        let tenant = cx.tenant(&accepted.client.user, &accepted.client.database);
        let seat = Seat::new(Arc::clone(cx.door), self.id, tenant, (self.server, accepted.thread));
        let mut relay = Relay::new(seat, &accepted, cx);
        relay.begin_with(login.take_held());
        match relay.has_to_ask(cx) {
            true => relay.ask_account(accepted.packet, cx),
            false => cx.send(Side::Client, accepted.packet),
        }
        self.stage = Stage::Relay(Box::new(relay));
        self.go_on(cx)
    }

    fn relay(&mut self, event: Event<'_>, cx: &mut Context<'_>) -> Result<(), End> {
        let Stage::Relay(relay) = &mut self.stage else { return Ok(()) };
        match event {
            Event::Said(Side::Server, bytes) => return self.down(bytes, cx),
            Event::Said(Side::Client, bytes) => return self.up(bytes, cx),
            Event::Ended(Side::Server) | Event::Lost(Side::Server, _) => return Err(End::Server),
            Event::Leaving(Side::Server) => relay.server_leaves(),
            Event::Ended(Side::Client) => return self.client_left(cx),
            // What it still had to say is not waited for where it could not be said before something else happens.
            Event::Leaving(Side::Client)
                if relay.standing() == Some(Standing::Waiting) || relay.is_in_login() =>
            {
                return if self.client_ended { Ok(()) } else { self.client_left(cx) };
            }
            Event::Lost(Side::Client, _) => {
                self.client_deaf = true;
                return if self.client_ended { Ok(()) } else { self.client_left(cx) };
            }
            Event::Blocked(blocked) => self.client_blocked = blocked.then_some(cx.now),
            Event::Admitted => {
                return match relay.admitted(cx) {
                    Some(rejection) => self.refuse_command(rejection, cx),
                    None => self.go_on(cx),
                };
            }
            Event::Rejected(rejection) if relay.rejected(cx) => return self.refuse_command(rejection, cx),
            Event::Tick if relay.is_late(cx) => {
                cx.stats.login_timeouts.add();
                return Err(Refusal::LoginTooSlow.into());
            }
            Event::Tick => {
                relay.tell_runaway(cx);
                relay.make_room(self.client_blocked, cx);
                relay.keep_awake(cx);
                if self.client_blocked.is_none() && relay.takes_its_turn() {
                    return self.go_on(cx);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn down(&mut self, bytes: &[u8], cx: &mut Context<'_>) -> Result<(), End> {
        let Stage::Relay(relay) = &mut self.stage else { return Ok(()) };
        let range = relay.understand(bytes, cx)?;
        if self.client_deaf {
            self.discarded += range.len() as u64;
        } else if !range.is_empty() {
            cx.actions.push(Action::Pass(range));
        }
        let unheard = self.client_deaf && self.discarded > DISCARDED_MAX;
        if relay.is_finished() || self.client_ended && relay.is_stream() || unheard {
            return Err(End::Over);
        }
        // It was asked for a file after it had left: what does not come must not be waited for.
        if self.client_ended && relay.is_in_long_command() {
            cx.actions.push(Action::End(Side::Server));
        }
        if self.client_deaf && !self.client_ended || self.client_ended && relay.is_quiet() {
            self.client_left(cx)?;
        }
        self.go_on(cx)
    }

    fn up(&mut self, bytes: &[u8], cx: &mut Context<'_>) -> Result<(), End> {
        let Stage::Relay(relay) = &mut self.stage else { return Ok(()) };
        relay.heard(cx);
        if !relay.held.is_empty() || relay.is_discarding() {
            relay.held.extend_from_slice(bytes);
            relay.look_again = true;
            return self.go_on(cx);
        }
        let taken = match relay.take(bytes, cx) {
            Ok(taken) => taken,
            Err(refusal) => {
                relay.held = bytes.to_vec();
                return Err(refusal.into());
            }
        };
        if taken.passed > 0 {
            cx.actions.push(Action::Pass(0..taken.passed));
        }
        // Mostly nothing is left, and an idle session owns no buffer.
        if taken.passed < bytes.len() {
            relay.held = bytes[taken.passed..].to_vec();
        }
        match taken.refused {
            Some(rejection) => self.refuse_command(rejection, cx),
            None => Ok(()),
        }
    }

    /// Sends of what was held back what may go by now. One refusal after the other in a loop: a client may have said
    /// thousands of commands ahead, and a call for each would need more stack than there is.
    fn go_on(&mut self, cx: &mut Context<'_>) -> Result<(), End> {
        while let Stage::Relay(relay) = &mut self.stage {
            if !relay.looks_again() || self.client_ended {
                return Ok(());
            }
            if relay.is_discarding() {
                relay.discard(cx)?;
                continue;
            }
            let mut held = std::mem::take(&mut relay.held);
            let taken = match relay.take(&held, cx) {
                Ok(taken) => taken,
                Err(refusal) => {
                    relay.held = held;
                    return Err(refusal.into());
                }
            };
            relay.held = held.split_off(taken.passed);
            if taken.passed > 0 {
                cx.send(Side::Server, held);
            }
            let Some(rejection) = taken.refused else { return Ok(()) };
            relay.refuse(rejection, cx)?;
        }
        Ok(())
    }

    /// The command at the front of what is held is refused, and what stands behind it goes on.
    fn refuse_command(&mut self, rejection: Rejection, cx: &mut Context<'_>) -> Result<(), End> {
        let Stage::Relay(relay) = &mut self.stage else { return Ok(()) };
        relay.refuse(rejection, cx)?;
        self.go_on(cx)
    }

    fn client_left(&mut self, cx: &mut Context<'_>) -> Result<(), End> {
        let Stage::Relay(relay) = &mut self.stage else { return Ok(()) };
        self.client_ended = true;
        match relay.leave(cx) {
            Leave::Close => Err(End::Over),
            Leave::EndServer => {
                cx.actions.push(Action::End(Side::Server));
                Ok(())
            }
            Leave::Drain => Ok(()),
        }
    }
}
