//! The server under test has a place and a login, and is checked before a run whether it carries what that asks for.

mod capacity;
mod connect;
mod control;
mod error;
mod grants;
mod local;
mod lock_wait;
mod option_file;
mod preflight;
mod sentry;
mod session;
mod status;
mod text;
mod tls;
mod url;
mod version;

pub use capacity::{Capacity, capacity, file_limit};
pub use control::{Cell, Control, HangUp, RowTaker, Rows};
pub use error::TargetError;
pub use local::Local;
pub use lock_wait::{LockWait, on_lock_wait};
pub use preflight::{Needs, Problem, has_privilege, preflight};
pub use session::Outcome;
pub use status::StatusOf;
pub use text::{literal, quoted};
pub use url::without_password;
pub use version::{Flavor, ServerVersion};

pub use evenkeel_os::address::Address;

use std::fmt;
use std::path::PathBuf;

/// Whether the connection is encrypted, in the clients' own words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsMode {
    /// Never, also where the server offers it.
    #[default]
    Disabled,
    /// Where the server can; the certificate as with [`Self::Required`].
    Preferred,
    /// Always; the certificate is not checked, except for its signature where `Target::tls_ca` is set.
    Required,
    /// Always; certificate and host name are checked against `Target::tls_ca` (or the system's roots).
    VerifyIdentity,
}

impl TlsMode {
    const NAMES: [(&str, Self); 4] = [
        ("disabled", Self::Disabled),
        ("preferred", Self::Preferred),
        ("required", Self::Required),
        ("verify-identity", Self::VerifyIdentity),
    ];

    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, mode)| *mode == self).map_or("disabled", |(name, _)| name)
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, mode)| *mode)
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
