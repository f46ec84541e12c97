//! Why TLS cannot be set up.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{path}: {source}", path = path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("TLS is required of clients, and no certificate is given")]
    NoCertificate,
    #[error("verify-ca towards the server, and no authorities are given")]
    NoAuthorities,
    #[error(
        "authorities for the server's certificate are given, but mode {0} does not check it; hint: verify-identity or \
         verify-ca"
    )]
    Unchecked(&'static str),
    #[error("no certificate can be for the server's name {0:?}; hint: verify-ca")]
    Name(String),
    #[error("cannot make a certificate")]
    NotMade,
    #[error("TLS: {0}")]
    Setup(#[from] rustls::Error),
}

pub(super) fn file(path: &Path, source: io::Error) -> TlsError {
    TlsError::File { path: path.to_owned(), source }
}
