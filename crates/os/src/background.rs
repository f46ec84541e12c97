//! Work on a thread of its own, which ends when nobody waits for it any more.

use evenkeel_core::Nanos;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Work under way. Dropping it ends the thread and throws away what it came to.
#[derive(Debug)]
pub struct Background<T> {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<T>>,
}

/// What the work waits by.
pub struct Until(Receiver<()>);

impl Until {
    /// Waits for so long; false where it is told to end.
    pub fn wait(&self, time: Duration) -> bool {
        matches!(self.0.recv_timeout(time), Err(RecvTimeoutError::Timeout))
    }

    /// Waits for an instant of a clock; false where it is told to end.
    pub fn wait_until(&self, at: Nanos, now: impl Fn() -> Nanos) -> bool {
        loop {
            if !self.wait((at - now()).into()) {
                return false;
            }
            if now() >= at {
                return true;
            }
        }
    }
}

impl<T: Send + 'static> Background<T> {
    /// # Errors
    /// There is no thread to be had.
    pub fn start(name: &str, work: impl FnOnce(&Until) -> T + Send + 'static) -> io::Result<Self> {
        let (stop, stopped) = channel();
        let thread = Builder::new().name(name.into()).spawn(move || work(&Until(stopped)))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }

    /// Whether the work has ended.
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends it, and says what it came to; `None` where it panicked.
    pub fn finish(mut self) -> Option<T> {
        self.stop = None;
        self.thread.take()?.join().ok()
    }
}

impl<T> Drop for Background<T> {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // Nobody wants to know what it came to.
            let _ = thread.join();
        }
    }
}
