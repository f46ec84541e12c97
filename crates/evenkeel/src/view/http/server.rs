//! The server as others see it: it is started, says where it listens, and ends when it is dropped.

use super::bounds::Bounds;
use super::page::Answer;
use super::serve::{JOBS_MAX, Serving, make};
use anyhow::{Context, Result};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

/// A running server; it ends when this is dropped.
pub struct Server {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Listens on `address`; `answer` is called with the path of each GET, and must not wait: what may take a while is
    /// [`Answer::Later`].
    pub fn start<A: Into<Answer>>(
        address: &str,
        answer: impl Fn(&str) -> A + Send + 'static,
    ) -> Result<Self> {
        Self::within(Bounds::USUAL, address, move |path| answer(path).into())
    }

    /// The same for clients that may use up so much.
    pub(super) fn within(
        bounds: Bounds,
        address: &str,
        answer: impl Fn(&str) -> Answer + Send + 'static,
    ) -> Result<Self> {
        let listener =
            TcpListener::bind(address).with_context(|| format!("listening on {address} for metrics"))?;
        listener.set_nonblocking(true)?;
        let (address, stop) = (listener.local_addr()?, Arc::new(AtomicBool::new(false)));
        let (jobs, asked) = mpsc::sync_channel(JOBS_MAX);
        let (ready, made) = mpsc::channel();
        let stopped = Arc::clone(&stop);
        let serve = move || Serving::new(listener, &answer, bounds, (jobs, made)).run(&stopped);
        let thread = |name: &str| std::thread::Builder::new().name(name.into());
        // Each ends when the other one has, so that none is left where the second cannot be started.
        let threads = vec![
            thread("metrics-later").spawn(move || make(&asked, &ready))?,
            thread("metrics").spawn(serve)?,
        ];
        Ok(Self { address, stop, threads })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(thread) = self.threads.pop() {
            // A panic in it has been told already.
            let _ = thread.join();
        }
    }
}
