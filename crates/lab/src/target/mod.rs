//! The server under test: where it is and how to log in.

mod url;

pub use url::TargetError;

use std::path::PathBuf;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Host and port.
    Tcp {
        /// Name or address.
        host: String,
        /// Port, 3306 by default.
        port: u16,
    },
    /// Unix socket.
    Unix(PathBuf),
}

/// Whether the connection is encrypted, in the clients' own words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsMode {
    /// Never.
    #[default]
    Disabled,
    /// Where the server can.
    Preferred,
    /// Always; the certificate is not checked.
    Required,
    /// Always; certificate and host name are checked against `Target::tls_ca` (or the system's roots).
    VerifyIdentity,
}

/// A server to measure: `mysql://user:password@host:port/database?tls=required`.
#[derive(Clone)]
pub struct Target {
    /// Where it listens.
    pub address: Address,
    /// Account.
    pub user: String,
    /// Password; never printed, never stored.
    pub password: Option<String>,
    /// Default database.
    pub database: Option<String>,
    /// Encryption.
    pub tls: TlsMode,
    /// File with the certificates to trust.
    pub tls_ca: Option<PathBuf>,
}
