//! The server as others see it: it is started, says where it listens, and ends when it is dropped.

use super::bounds::Bounds;
use super::client::place;
use super::page::Page;
use super::serve::Serving;
use anyhow::{Context, Result};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// A running server; it ends when this is dropped.
pub struct Server {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens on `address`; `answer` is called with the path of each GET, and must not wait.
    pub fn start(address: &str, answer: impl Fn(&str) -> Page + Send + 'static) -> Result<Self> {
        Self::within(Bounds::USUAL, address, answer)
    }

    /// The same for clients that may use up so much.
    pub(super) fn within(
        bounds: Bounds,
        address: &str,
        answer: impl Fn(&str) -> Page + Send + 'static,
    ) -> Result<Self> {
        let listener = TcpListener::bind(place(address)?)
            .with_context(|| format!("listening on {address} for metrics"))?;
        listener.set_nonblocking(true)?;
        let (address, stop) = (listener.local_addr()?, Arc::new(AtomicBool::new(false)));
        let stopped = Arc::clone(&stop);
        let serve = move || Serving::new(listener, &answer, bounds).run(&stopped);
        let thread = std::thread::Builder::new().name("metrics".into()).spawn(serve)?;
        Ok(Self { address, stop, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic in it has been told already.
            let _ = thread.join();
        }
    }
}
