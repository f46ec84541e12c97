//! The words of a session: what happens to it, what it wants done, and what it is lent for that.

use crate::proxy::account::{is_bound_to_host, names_socket_plugin};
use crate::proxy::arrivals::{Refusal, Stats};
use crate::proxy::plan::{Plan, TenantBy};
use crate::proxy::seat::Door;
use evenkeel_core::Nanos;
use evenkeel_core::admission::{Notice, Rejection, TenantId};
use evenkeel_os::tls::TlsMode;
use evenkeel_wire::ProtocolError;
use std::io;
use std::ops::Range;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Client,
    Server,
}

impl Side {
    pub fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

#[derive(Debug)]
pub enum Event<'a> {
    /// The connection to the server is there; which server it is, by the gate's count.
    Connected {
        /// As [`evenkeel_core::admission::Keeper::server`] counts them.
        server: u32,
    },
    /// No address of the server takes connections.
    Unreachable(io::Error),
    /// A side said these bytes.
    Said(Side, &'a [u8]),
    /// A side says nothing more, and all that it said was taken.
    Ended(Side),
    /// A side has announced its end; what it said before may not have been taken yet.
    Leaving(Side),
    /// A side is gone: it neither reads nor says anything.
    Lost(Side, io::Error),
    /// Whether bytes for the client wait because it does not read.
    Blocked(bool),
    /// Everything for the client has gone out, and the end behind it.
    AllSent,
    /// The gate lets in what waits.
    Admitted,
    /// The gate refuses what waits.
    Rejected(Rejection),
    /// Others want the place of a login that takes long.
    GiveWay,
    /// Time has passed.
    Tick,
}

/// What is to be done, in this order.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// This part of what was said goes to the other side as it is.
    Pass(Range<usize>),
    /// These bytes go to a side.
    Send(Side, Vec<u8>),
    /// A TLS handshake with the client begins, with these bytes of it.
    ClientTls(Vec<u8>),
    /// A TLS handshake with the server begins.
    ServerTls,
    /// The session is cut for what is no protocol: that is counted, with its client's address.
    Malformed(ProtocolError),
    /// The end goes to a side, once all is sent: nothing more comes.
    End(Side),
    /// Nothing is left to do: the session is over.
    Close,
}

/// Why a stage of a session ends.
#[derive(Debug)]
pub enum End {
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

impl From<ProtocolError> for End {
    fn from(error: ProtocolError) -> Self {
        Self::Refusal(error.into())
    }
}

/// What all sessions of a guard have in common.
#[derive(Clone, Debug)]
pub struct Terms {
    /// What the operator chose.
    pub plan: Plan,
    /// Clients are offered TLS.
    pub tls_offered: bool,
    /// What is asked of the server.
    pub backend_tls: TlsMode,
}

/// What a session is lent while it handles an event.
pub struct Context<'a> {
    /// What the operator chose.
    pub terms: &'a Terms,
    /// The way to the gate.
    pub door: &'a Arc<dyn Door>,
    /// From when on a transaction is long ([`evenkeel_core::admission::Keeper::long_from`]).
    pub long_from: Nanos,
    /// Counts for metrics.
    pub stats: &'a Stats,
    /// The server that logins reach now, by the gate's count.
    pub server: u32,
    /// Servers below this number are left by the operator's order: their sessions do not count.
    pub led: u32,
    /// On the clock of the gate.
    pub now: Nanos,
    /// What follows for other sessions of the same thread.
    pub notices: &'a mut Vec<Notice>,
    /// What is to be done.
    pub actions: &'a mut Vec<Action>,
}

impl Context<'_> {
    pub(super) fn send(&mut self, side: Side, bytes: Vec<u8>) {
        self.actions.push(Action::Send(side, bytes));
    }

    pub(super) fn tenant(&mut self, user: &[u8], database: &[u8]) -> TenantId {
        let name = match self.terms.plan.tenants {
            TenantBy::User => user,
            TenantBy::Database => database,
        };
        let (name, mut found) = (String::from_utf8_lossy(name), TenantId::default());
        self.door.reach(Some(self.notices), &mut |keeper, _| found = keeper.tenant(&name));
        found
    }

    pub(super) fn is_administrator(&self, user: &[u8]) -> bool {
        self.terms.plan.administrators.iter().any(|name| name.as_bytes() == user)
    }

    /// Whether some accounts may not come in, so that each has to be known.
    pub(super) fn has_to_know_accounts(&self) -> bool {
        self.terms.plan.backend.is_local() || self.terms.plan.refuse_host_accounts
    }

    /// Why an account may not come in, by the server's answer to the question for it.
    pub(super) fn objection(&self, answer: &[u8]) -> Option<Refusal> {
        let plan = &self.terms.plan;
        match () {
            () if plan.backend.is_local() && names_socket_plugin(answer) => Some(Refusal::SocketAccount),
            () if plan.refuse_host_accounts && is_bound_to_host(answer) => Some(Refusal::HostAccount),
            () => None,
        }
    }
}
