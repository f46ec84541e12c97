//! Certificates are read from PEM files.

use super::error::{TlsError, file};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::io;
use std::path::Path;

/// The certificates of a file, of which there is at least one.
pub(super) fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = || CertificateDer::pem_file_iter(path)?.collect::<Result<Vec<_>, _>>();
    match read() {
        Ok(chain) if chain.is_empty() => Err(file(path, io::Error::other("no certificate in it"))),
        Ok(chain) => Ok(chain),
        Err(error) => Err(file(path, io::Error::other(error))),
    }
}
