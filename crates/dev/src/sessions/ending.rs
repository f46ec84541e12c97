//! Why a session may end. Whoever brings it about notes the reason, and the guard is never asked: an end that nobody has
//! a reason for is the guard's fault, and so is what an end for a reason took with it.

use evenkeel_core::Nanos;

/// Reasons for the end of one session.
#[derive(Debug, Default)]
pub struct Reasons {
    /// The present time, for who has no clock.
    pub now: Nanos,
    /// Since when the server has been about to end, or has been out of reach.
    server: Option<Nanos>,
    /// What the server had said to a client that was not in yet is lost with it.
    pub login_cut: bool,
    /// Since when somebody has been about to log in, or to become somebody else; nobody where the client was told.
    pub login: Option<Nanos>,
    /// Others wanted the place of a login.
    pub gave_way: bool,
    /// The gate had a transaction closed that was idle for as long as the operator allows.
    pub idle: bool,
}

impl Reasons {
    /// Those of a session that begins now.
    pub fn new(now: Nanos) -> Self {
        Self { now, login: Some(now), ..Self::default() }
    }

    /// The server ends, or is out of reach from now on.
    pub fn server_ends(&mut self, now: Nanos) {
        self.server.get_or_insert(now);
    }

    /// Since when the server has been about to end.
    pub fn server(&self) -> Option<Nanos> {
        self.server
    }
}
