//! Free TCP ports on 127.0.0.1 are found here.

use crate::sandbox::SandboxError;
use std::net::TcpListener;
use std::path::Path;

pub(super) fn is_free(port: u16) -> bool {
    TcpListener::bind(("127.0.0.1", port)).is_ok()
}

pub(super) fn free_port() -> Result<u16, SandboxError> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    let address = listener.map_err(SandboxError::io("find a free port on", Path::new("127.0.0.1")))?;
    Ok(address.port())
}
