//! Why the guard itself ends a connection, and the words that it sends to the client.

use crate::admission::Rejection;
use evenkeel_wire::ProtocolError;
use evenkeel_wire::relay::hello;
use std::io;

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
