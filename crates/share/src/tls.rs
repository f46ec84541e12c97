//! TLS for clients of disks.

use evenkeel_os::tls::{Identity, TlsError, disk_tls};
use rustls::ServerConfig;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is shown to clients, and what is asked of them.
///
/// # Errors
/// A file cannot be read, or certificate and key do not go together.
pub fn server_tls(
    certificate: PathBuf,
    key: PathBuf,
    clients: Option<&Path>,
) -> Result<Arc<ServerConfig>, TlsError> {
    disk_tls(&Identity::Files { certificate, key }, clients)
}
