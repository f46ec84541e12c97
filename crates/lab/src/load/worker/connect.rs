//! Opening connections: before the load begins, as the pool grows, and again after a loss.

use super::{ClientSlot, Worker, is_opening};
use crate::load::poller::{Interest, TIMER};
use crate::load::schedule::{Arrival, LoadError, Result};
use crate::load::session::{Session, State};
use crate::load::tls::Link;
use evenkeel_core::Nanos;
use evenkeel_core::random::Random;
use evenkeel_os::Socket;
use evenkeel_os::clock::monotonic;
use evenkeel_wire::{CapabilityFlags, Login, LoginError, LoginStep};
use std::io;
use std::sync::atomic::Ordering::Relaxed;

/// Connections that a thread opens at the same time: below the backlog of any server.
const OPENING_MAX: usize = 32;
/// A connection that is not there by then is given up.
const LOGIN_TIMEOUT: Nanos = Nanos::from_secs(10);
/// First and longest wait after a failure to connect.
const BACKOFF_MIN: Nanos = Nanos::from_millis(10);
const BACKOFF_MAX: Nanos = Nanos::from_secs(1);
/// Wait where a unix socket has no room for one more connection; the kernel would let a blocking client wait.
const BACKLOG_WAIT: Nanos = Nanos::from_millis(1);

/// CR_CONN_HOST_ERROR, what clients report where they cannot connect.
const CODE_CONNECT: u16 = 2003;
/// CR_SERVER_HANDSHAKE_ERR, what clients report where the login fails.
const CODE_LOGIN: u16 = 2012;

pub(super) enum Refusal {
    Connect(io::Error),
    Login(LoginError),
}

impl Worker<'_> {
    /// Opens this many sessions before the load begins. Fewer are good enough, none are not.
    pub fn open_first(&mut self, count: usize) -> Result<()> {
        let deadline = monotonic() + LOGIN_TIMEOUT;
        let refusals_max = self.shared.endpoints.len();
        loop {
            let now = monotonic();
            // The first goes alone, so that a host with several addresses is tried address by address.
            let width = if self.open == 0 { 1 } else { OPENING_MAX };
            let goes_on = self.refusals < refusals_max && self.open + self.opening < count;
            if goes_on
                && self.opening < width
                && now >= self.connect_after
                && let Some(slot) = self.take_vacant()
            {
                self.connect(slot);
                continue;
            }
            let is_over = self.opening == 0 && !goes_on;
            if is_over || self.shared.stop.is_set() || now >= deadline {
                break;
            }
            self.wait_a_moment()?;
        }
        (self.connect_after, self.backoff) = (Nanos::ZERO, Nanos::ZERO);
        match self.opening_error.take() {
            _ if self.open > 0 || self.shared.stop.is_set() => Ok(()),
            Some(error) => Err(error),
            None => Err(LoadError::Slow {
                address: self.shared.plan.target.address.to_string(),
                seconds: LOGIN_TIMEOUT.0 / 1_000_000_000,
            }),
        }
    }

    /// Waits for sockets for some milliseconds, and reads what is there.
    pub(super) fn wait_a_moment(&mut self) -> Result<()> {
        let now = monotonic();
        let waited = self.poller.wait(now, now + Nanos::from_millis(5));
        waited.map_err(LoadError::cannot("wait for sockets"))?;
        for index in 0..self.poller.ready() {
            let token = self.poller.token(index);
            if token != TIMER {
                self.handle(token);
            }
        }
        Ok(())
    }

    /// Closes the sessions that were opened first, where each request has its own.
    pub fn close_first(&mut self) {
        while let Some(slot) = self.idle.pop() {
            self.quit(slot);
        }
    }

    pub(super) fn take_vacant(&mut self) -> Option<u32> {
        if let Some(slot) = self.vacant.pop() {
            return Some(slot);
        }
        if self.sessions.len() >= self.sessions_max {
            return None;
        }
        let slot = self.sessions.len();
        self.sessions.push(Session::new(self.shared.scripts.len()));
        if !self.closed {
            let number = (slot * self.shared.threads + self.thread) as u64;
            let client = self.shared.plan.workload.client(number);
            self.clients.push(ClientSlot { client, random: Random::new(self.request_seed) });
        }
        Some(slot as u32)
    }

    /// How many connections may be under way at the same time for the requests that wait now.
    pub(super) fn may_open(&self) -> usize {
        let room = self.sessions_max - (self.sessions.len() - self.vacant.len());
        match self.per_request {
            true => usize::MAX,
            false => (room + self.opening).min(self.waiting.len()).min(OPENING_MAX),
        }
    }

    /// Opens sessions for what waits.
    pub(super) fn grow(&mut self, now: Nanos) {
        while !self.per_request && now >= self.connect_after && self.opening < self.may_open() {
            let Some(slot) = self.take_vacant() else { return };
            self.connect(slot);
        }
    }

    pub(super) fn connect(&mut self, slot: u32) {
        let now = monotonic();
        self.opening += 1;
        let session = &mut self.sessions[slot as usize];
        session.state = State::Connecting;
        if let Some(request) = &mut session.request {
            request.send = now;
            session.carried = request.start.carries(request.arrival, now);
        }
        if let Err(error) = self.try_connect(slot, now) {
            self.refused(slot, Refusal::Connect(error), now);
        }
    }

    fn try_connect(&mut self, slot: u32, now: Nanos) -> io::Result<()> {
        let endpoints = &self.shared.endpoints;
        let endpoint = &endpoints[self.shared.endpoint.load(Relaxed) % endpoints.len()];
        let (socket, connected) = Socket::dial(endpoint)?;
        let interest = if connected { Interest::Read } else { Interest::ReadWrite };
        self.poller.add(&socket, self.token(slot), interest)?;
        let shared = self.shared;
        let session = &mut self.sessions[slot as usize];
        session.link = Some(Link::new(socket));
        session.login = Some(Box::new(Login::new(shared.account.clone(), shared.channel, shared.encryption)));
        if connected {
            session.state = State::LoggingIn;
        }
        let deadline = self.deadline(now + LOGIN_TIMEOUT, slot);
        let sessions = &self.sessions;
        self.logins.push(deadline, sessions.len(), |deadline| is_opening(sessions, deadline));
        Ok(())
    }

    pub(super) fn token(&self, slot: u32) -> u64 {
        u64::from(self.sessions[slot as usize].connection) << 32 | u64::from(slot)
    }

    /// The socket has become writable: it is connected, or could not be.
    pub(super) fn connected(&mut self, slot: u32) -> io::Result<()> {
        let token = self.token(slot);
        let session = &mut self.sessions[slot as usize];
        session.state = State::LoggingIn;
        let Some(link) = &session.link else { return Ok(()) };
        link.socket().connected()?;
        self.poller.change(link.socket(), token, Interest::Read)
    }

    pub(super) fn log_in(&mut self, slot: u32, mut input: &[u8]) -> Result<(), Refusal> {
        let session = &mut self.sessions[slot as usize];
        let Some(login) = &mut session.login else { return Ok(()) };
        match login.feed(&mut input, &mut session.out).map_err(Refusal::Login)? {
            LoginStep::Continue => {}
            LoginStep::StartTls => {
                session.state = State::Encrypting;
                // The request for TLS is the last thing sent in the clear.
                self.flush(slot).map_err(Refusal::Connect)?;
                self.start_tls(slot).map_err(Refusal::Connect)?;
            }
            LoginStep::Done => {
                self.logged_in(slot);
                return Ok(());
            }
        }
        self.flush(slot).map_err(Refusal::Connect)
    }

    fn start_tls(&mut self, slot: u32) -> io::Result<()> {
        let session = &mut self.sessions[slot as usize];
        if let (Some(link), Some(tls)) = (&mut session.link, &self.shared.tls) {
            link.start_tls(tls)?;
        }
        Ok(())
    }

    /// Whether the TLS handshake is over is seen after every read.
    pub(super) fn encrypted(&mut self, slot: u32) -> Result<(), Refusal> {
        let session = &mut self.sessions[slot as usize];
        let handshaking = session.link.as_ref().is_none_or(Link::is_handshaking);
        if session.state == State::Encrypting && !handshaking {
            session.state = State::LoggingIn;
            if let Some(login) = &mut session.login {
                login.tls_started(&mut session.out).map_err(Refusal::Login)?;
            }
            self.flush(slot).map_err(Refusal::Connect)?;
        }
        Ok(())
    }

    fn logged_in(&mut self, slot: u32) {
        let session = &mut self.sessions[slot as usize];
        let Some(login) = session.login.take() else { return };
        let deprecate_eof = login.capabilities().contains(CapabilityFlags::CLIENT_DEPRECATE_EOF);
        session.logged_in(deprecate_eof, login.status());
        let has_request = session.request.is_some();
        self.opening -= 1;
        self.open += 1;
        self.open_max = self.open_max.max(self.open);
        (self.connect_after, self.backoff) = (Nanos::ZERO, Nanos::ZERO);
        if self.lost > 0 {
            self.lost -= 1;
            self.reconnects += 1;
        }
        match has_request {
            true => self.step(slot, None),
            false => self.idle.push(slot),
        }
    }

    pub(super) fn refused(&mut self, slot: u32, refusal: Refusal, now: Nanos) {
        if let Refusal::Connect(error) = &refusal {
            if error.kind() == io::ErrorKind::WouldBlock {
                return self.backlog_full(slot, now);
            }
            self.shared.endpoint.fetch_add(1, Relaxed);
        }
        let (code, text) = match &refusal {
            Refusal::Connect(error) => (CODE_CONNECT, error.to_string()),
            Refusal::Login(LoginError::Server(error)) => (error.code, error.text.clone()),
            Refusal::Login(error) => (CODE_LOGIN, error.to_string()),
        };
        self.recorder.error_text(code, &text);
        self.refusals += 1;
        let address = self.shared.plan.target.address.to_string();
        self.opening_error.get_or_insert(match refusal {
            Refusal::Connect(source) => LoadError::cannot(format!("connect to {address}"))(source),
            Refusal::Login(source) => LoadError::Login { address, source },
        });
        self.fail(slot, code, now);
        self.close(slot);
        self.back_off(now);
    }

    fn back_off(&mut self, now: Nanos) {
        self.backoff = Nanos(self.backoff.0 * 2).clamp(BACKOFF_MIN, BACKOFF_MAX);
        // An arrival with its own connection shows the refusal as its failure, and the next one is on time; a
        // closed client would come back at once, again and again.
        if !self.per_request || self.closed {
            self.connect_after = now + self.backoff;
        }
    }

    /// The server accepts too slowly: a little later there is room.
    fn backlog_full(&mut self, slot: u32, now: Nanos) {
        let request = self.sessions[slot as usize].request.take();
        self.close(slot);
        self.connect_after = now + BACKLOG_WAIT;
        if let Some(request) = request {
            self.busy -= 1;
            if request.watched {
                self.ends_watched();
            }
            self.waiting.push_front(Arrival { at: request.arrival, number: request.number });
        }
    }
}
