//! The server's addresses, which change while the guard runs.

use evenkeel_os::{Endpoint, Socket};
use std::sync::{Arc, RwLock};

pub struct Backend(RwLock<Arc<Vec<Endpoint>>>);

impl Backend {
    /// With what was found at the start.
    pub fn new(endpoints: Vec<Endpoint>) -> Self {
        Self(RwLock::new(Arc::new(endpoints)))
    }

    pub fn endpoints(&self) -> Arc<Vec<Endpoint>> {
        // Nobody panics while he holds it: it is only read and replaced.
        self.0.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// A socket for the first of them, connected to nobody yet.
    pub fn socket(&self) -> std::io::Result<Socket> {
        match self.endpoints().first() {
            Some(endpoint) => Socket::unconnected(endpoint),
            None => Err(std::io::ErrorKind::AddrNotAvailable.into()),
        }
    }

    /// Others, for connections that are made from now on.
    pub fn replace(&self, endpoints: Vec<Endpoint>) {
        *self.0.write().unwrap_or_else(std::sync::PoisonError::into_inner) = Arc::new(endpoints);
    }
}
