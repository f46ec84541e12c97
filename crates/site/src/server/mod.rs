//! The server under test has a place and a login, and is checked before a run whether it carries what that asks for.

mod capacity;
mod connect;
mod control;
mod grants;
mod local;
mod option_file;
mod preflight;
mod sentry;
mod session;
mod url;
mod version;

pub use capacity::{Capacity, StatusOf, capacity, file_limit};
pub use control::{Cell, Control, HangUp, RowTaker, Rows};
pub use evenkeel_os::address::Address;
use evenkeel_os::tls::{BackendMode, BackendTls, ClientTls, TlsError, TlsSetup};
pub use local::Local;
pub use preflight::{Needs, Problem, has_privilege, preflight};
pub use sentry::on_lock_wait;
pub use session::Outcome;
use std::fmt;
use std::path::PathBuf;
pub use url::without_password;
pub use version::{Flavor, ServerVersion, TargetError};

words! {
    /// Whether the connection is encrypted, in the clients' own words.
    #[derive(Default)]
    TlsMode {
        /// Never, also where the server offers it.
        #[default]
        Disabled = "disabled",
        /// Where the server can; the certificate as with [`Self::Required`].
        Preferred = "preferred",
        /// Always; the certificate is not checked, except for its signature where `Target::tls_ca` is set.
        Required = "required",
        /// Always; certificate and host name are checked against `Target::tls_ca` (or the system's roots).
        VerifyIdentity = "verify-identity",
    }
}

/// A server to measure: `mysql://user:password@host:port/database?tls=required`.
///
/// It is read by [`Target::parse`]. Neither `Display` (a URL again) nor `Debug` shows the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    pub address: Address,
    pub user: String,
    /// Password; never printed, never stored.
    pub password: Option<String>,
    pub database: Option<String>,
    /// Whether the connection has to be encrypted, and what of the server is checked.
    pub tls: TlsMode,
    pub tls_ca: Option<PathBuf>,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({self})")
    }
}

impl Target {
    /// How to start TLS with it. Who names a certificate authority wants at least its signature checked, also where he does
    /// without TLS if need be.
    /// Errors: authorities cannot be read, or the host has a name that no certificate can be for.
    pub fn tls_setup(&self) -> Result<TlsSetup, TlsError> {
        let mode = match self.tls {
            TlsMode::VerifyIdentity => BackendMode::VerifyIdentity,
            TlsMode::Disabled | TlsMode::Preferred | TlsMode::Required => BackendMode::Required,
        };
        let host = match &self.address {
            Address::Tcp { host, .. } => host,
            Address::Unix(_) => "localhost",
        };
        let backend = BackendTls { mode: Some(mode), authorities: self.tls_ca.clone() };
        TlsSetup::new(&ClientTls::default(), &backend, host)
    }
}

pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A text as a value that no mode of the server reads as anything else: in hexadecimal digits.
pub fn literal(text: &[u8]) -> String {
    if text.is_empty() {
        return "''".to_owned();
    }
    text.iter().fold("0x".to_owned(), |digits, byte| digits + &format!("{byte:02x}"))
}
