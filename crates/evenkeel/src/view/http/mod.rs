//! A tiny HTTP server for metrics: one thread that waits for no client, everything bounded.

mod client;
mod connection;
mod serve;
#[cfg(test)]
pub mod tests;

pub use client::get;

use anyhow::{Context, Result};
use evenkeel_core::Nanos;
use serve::{JOBS_MAX, Serving, make};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    /// 200, 404 or 503, say.
    pub code: u16,
    /// Its media type.
    pub content_type: &'static str,
    /// The text.
    pub body: String,
}

impl Page {
    /// Plain text.
    pub fn text(code: u16, body: impl Into<String>) -> Self {
        Self { code, content_type: "text/plain; charset=utf-8", body: body.into() }
    }

    fn head(&self) -> String {
        let reason = match self.code {
            200 => "OK",
            404 => "Not Found",
            405 => "Method Not Allowed",
            500 => "Internal Server Error",
            _ => "Service Unavailable",
        };
        format!(
            "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.code,
            self.content_type,
            self.body.len()
        )
    }
}

/// Makes a page that may have to wait for something.
pub type Job = Box<dyn FnOnce() -> Page + Send>;

/// What a path leads to.
pub enum Answer {
    /// A page that was made without waiting.
    Now(Page),
    /// One that may take a while: it is made in another thread, so that nobody waits who asks for another one.
    Later(Job),
}

impl From<Page> for Answer {
    fn from(page: Page) -> Self {
        Self::Now(page)
    }
}

/// What clients may use up.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// Clients at a time, and so descriptors.
    clients: usize,
    /// Bytes of answers that are not taken, all together; a single one may be longer.
    answers: usize,
    /// Time for a whole request.
    request: Nanos,
    /// Time for taking the answer.
    answer: Nanos,
}

impl Bounds {
    /// More clients than ever watch one process; times that a machine at its limit does not reach.
    const USUAL: Self =
        Self { clients: 64, answers: 32 << 20, request: Nanos::from_secs(10), answer: Nanos::from_secs(30) };
}

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

    fn within(
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
