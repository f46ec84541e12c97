//! Who may come in: as many clients as there is room for.

use evenkeel_core::Nanos;
use evenkeel_core::admission::Rejection;
use evenkeel_os::Socket;
use evenkeel_wire::ProtocolError;
use evenkeel_wire::relay::hello;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Descriptors that are kept for what is not a client: 64 scrapers of metrics, files, the monitor's connection.
const RESERVED: usize = 96;

/// As many clients as open files allow, each with two, where the operator has not said less.
pub fn bound(asked: Option<usize>, open_files: u64) -> usize {
    let open_files = usize::try_from(open_files).unwrap_or(usize::MAX);
    // Where there are hardly any, a quarter has to do.
    let reserved = RESERVED.min(open_files / 4);
    let possible = (open_files.saturating_sub(reserved) / 2).max(1);
    asked.map_or(possible, |asked| asked.clamp(1, possible))
}

/// Sends a client the reason why it cannot come in, in the words of a server that is full.
pub fn turn_away(client: &Socket, why: &Refusal, stats: &Stats) {
    let mut out = Vec::new();
    why.put(&mut out, 0, false);
    // A new connection has room for a few words; who has left already needs none.
    let _ = client.send(&out);
    client.end();
    stats.clients_refused.add();
    stats.closed.add();
}

/// A statement that takes longer than the operator bears.
#[derive(Clone, Debug, PartialEq)]
pub struct Runaway {
    pub user: String,
    /// What the server calls its session.
    pub thread: u32,
    pub digest: u64,
    pub lasted: Nanos,
}

#[derive(Debug, Default)]
pub struct Stats {
    pub accepted: Count,
    pub closed: Count,
    pub logins: Count,
    /// Logins at a server that offers TLS, which the guard does not offer to clients.
    pub without_tls: Count,
    pub refused: Count,
    /// Logins that the server refused because it has too many connections.
    pub backend_full: Count,
    pub malformed: Count,
    /// Whose the last of them was, and why it was cut.
    malformed_last: Mutex<(String, String)>,
    /// Statements that took longer than they may, and the last of them.
    pub runaways: Count,
    runaway_last: Mutex<Option<Runaway>>,
    pub unreachable: Count,
    /// Why the last of them failed.
    unreachable_why: Mutex<String>,
    pub commands: Count,
    pub resets: Count,
    /// Times when the server heard of a session in the queue, so as not to close it.
    pub kept_awake: Count,
    /// Clients that took longer for their login than they may.
    pub login_timeouts: Count,
    /// Clients beyond the most that may be connected at a time, which were turned away. They are not among `refused`.
    pub clients_refused: Count,
    /// Sessions that ended because of a defect of the guard itself, each alone.
    pub panics: Count,
    /// Times when another server took the place of the one before.
    pub failovers: Count,
}

impl Stats {
    pub fn count_unreachable(&self, why: String) {
        self.unreachable.add();
        *self.unreachable_why.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    pub fn count_malformed(&self, client: String, why: String) {
        *self.malformed_last.lock().unwrap_or_else(PoisonError::into_inner) = (client, why);
        self.malformed.add();
    }

    /// The client of the connection that was cut last as malformed, and the reason.
    pub fn last_malformed(&self) -> (String, String) {
        self.malformed_last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn count_runaway(&self, runaway: Runaway) {
        *self.runaway_last.lock().unwrap_or_else(PoisonError::into_inner) = Some(runaway);
        self.runaways.add();
    }

    /// The last one.
    pub fn last_runaway(&self) -> Option<Runaway> {
        self.runaway_last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn why_unreachable(&self) -> String {
        self.unreachable_why.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// An end that the guard decides on. The client gets it as an error of MySQL.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("cannot connect to the server: {0}")]
    Unreachable(io::Error),
    #[error("the server ended the connection")]
    ServerGone,
    #[error("this port takes connections under TLS only; hint: start the client with TLS")]
    TlsRequired,
    #[error("TLS is required towards the server, which offers none")]
    NoBackendTls,
    #[error("TLS towards the server: {0}")]
    BackendTls(io::Error),
    #[error(
        "authentication plugin '{0}' needs the same security on both sides of the guard; hint: use TLS on both \
         sides or on neither, or an account with mysql_native_password or ed25519"
    )]
    UnequalTls(String),
    #[error(
        "account authenticates by the system user of a socket (unix_socket, auth_socket), and here that is \
         the guard's user; hint: give the guard a TCP backend"
    )]
    SocketAccount,
    #[error("cannot tell how the account authenticates: error {0}; hint: give the guard a TCP backend")]
    UnknownAccount(u16),
    #[error(
        "account is bound to a host, and all clients of the guard come from the guard's host; hint: let the \
         guard send its clients' addresses to the server (proxy_protocol), or use an account for any host ('%')"
    )]
    HostAccount,
    #[error("login took too long")]
    LoginTooSlow,
    #[error("too many clients; hint: raise the guard's limit of clients or of open files")]
    TooManyClients,
    #[error("out of open files; hint: raise the guard's limit of open files")]
    NoDescriptors,
    #[error("{before}{0}", before = if *.0 == Rejection::Killed { "" } else { "transaction refused: " })]
    Gate(Rejection),
    #[error("not the protocol: {0}")]
    Malformed(#[from] ProtocolError),
}

impl Refusal {
    /// Code and SQLSTATE by which clients know what to make of it.
    fn code(&self) -> (u16, &'static [u8; 5]) {
        match self {
            // "Unable to connect to foreign data source": codes of clients' own, as 2003, are malformed to them
            // when a server sends them.
            Self::Unreachable(_) | Self::NoBackendTls | Self::BackendTls(_) => (1429, b"HY000"),
            Self::ServerGone => (1053, b"08S01"),
            Self::TlsRequired => (3159, b"08004"),
            Self::UnequalTls(_) => (1251, b"08004"),
            Self::SocketAccount | Self::UnknownAccount(_) | Self::HostAccount => (1045, b"28000"),
            Self::LoginTooSlow => (1159, b"08S01"),
            Self::TooManyClients | Self::NoDescriptors => (1040, b"08004"),
            Self::Gate(Rejection::Killed) => (1317, b"70100"),
            // "Too many active concurrent transactions", with the state by which a rolled back transaction may be tried
            // again. In the middle of a session a state of class 08 would mean to pools that the connection is broken: they
            // would close it and open another, while the server has too much to do already.
            Self::Gate(_) => (1637, b"40001"),
            Self::Malformed(_) => (1835, b"HY000"),
        }
    }

    /// Whether it stands where the client expects an answer, or wants none, so that it can be sent in any case.
    pub fn speaks_for_itself(&self) -> bool {
        matches!(self, Self::SocketAccount | Self::UnknownAccount(_) | Self::HostAccount)
    }

    /// Appends the error packet; before a login it goes without SQLSTATE, which clients do not expect yet.
    pub fn put(&self, out: &mut Vec<u8>, sequence: u8, greeted: bool) {
        let (code, state) = self.code();
        hello::put_error(out, sequence, code, greeted.then_some(state), &format!("evenkeel guard: {self}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_has_two_descriptors_and_others_keep_theirs() {
        assert_eq!(bound(None, 1_024), 464);
        assert_eq!((bound(Some(100), 1_024), bound(Some(1_000), 1_024)), (100, 464));
        assert_eq!((bound(None, 2), bound(None, 128), bound(Some(0), 1_024)), (1, 48, 1));
        assert_eq!(2 * bound(None, 1_024) + RESERVED, 1_024);
    }
}
