//! Why TLS cannot be set up.

use std::io;
use std::path::{Path, PathBuf};

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read or has not what is needed in it.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// The file that was to be read.
        path: PathBuf,
        /// What is wrong.
        source: io::Error,
    },
    /// Clients must use TLS, and there is no certificate to show them.
    #[error("TLS is required of clients, and no certificate is given")]
    NoCertificate,
    /// A certificate is to be checked, and there are no authorities to check it by.
    #[error("verify-ca towards the server, and no authorities are given")]
    NoAuthorities,
    /// Authorities are given, and a mode in which whoever is in between can do without a certificate.
    #[error(
        "authorities for the server's certificate are given, but mode {0} does not check it; hint: verify-identity or \
         verify-ca"
    )]
    Unchecked(&'static str),
    /// The server's certificate is to be checked for a name that none can have.
    #[error("no certificate can be for the server's name {0:?}; hint: verify-ca")]
    Name(String),
    /// The system gives no random numbers for a key.
    #[error("cannot make a certificate")]
    NotMade,
    /// Certificate and key do not go together, and the like.
    #[error("TLS: {0}")]
    Setup(#[from] rustls::Error),
}

/// This file is the reason.
pub(super) fn file(path: &Path, source: io::Error) -> TlsError {
    TlsError::File { path: path.to_owned(), source }
}
