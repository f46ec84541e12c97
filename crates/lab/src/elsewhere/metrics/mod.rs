//! The counters of node_exporter: of the machine as a whole, in ticks of 10 ms, looked at once a second during runs.

mod http;
mod text;

pub(super) use http::Url;

use super::error::ElsewhereError;
use super::readings::Readings;
use crate::clock::monotonic;
use evenkeel_core::Nanos;
use std::net::SocketAddr;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use text::Page;

/// Time from one look to the next: a page costs the far machine some 10 ms of CPU, so that this is one per cent of one CPU.
pub(super) const EVERY: Nanos = Nanos::from_secs(1);

/// A page that was there at least once.
#[derive(Clone, Debug)]
pub(super) struct Metrics {
    url: Url,
    addresses: Vec<SocketAddr>,
    /// What it said of the machine.
    pub host: Option<String>,
    /// Its kernel.
    pub kernel: Option<String>,
    /// CPUs that it has.
    pub cpus: f64,
}

impl Metrics {
    /// Looks at the page.
    pub(super) fn start(url: &Url) -> Result<Self, ElsewhereError> {
        let failed = |why: String| ElsewhereError::Page { url: url.to_string(), why };
        let addresses = url.addresses().map_err(|error| failed(error.to_string()))?;
        let text = http::get(url, &addresses).map_err(|error| failed(error.to_string()))?;
        let page =
            Page::parse(&text).ok_or_else(|| failed("it does not show the time of CPUs".to_owned()))?;
        let cpus = page.reading.host.map_or(0.0, |host| host.capacity);
        Ok(Self { url: url.clone(), addresses, host: page.host, kernel: page.kernel, cpus })
    }

    /// Looks at it again and again from now on.
    pub(super) fn watch(&self) -> Watch {
        let (stop, stopped) = mpsc::channel();
        let metrics = self.clone();
        let looking = thread::Builder::new().name("metrics".into()).spawn(move || metrics.look(&stopped));
        Watch { stop: Some(stop), thread: looking.ok() }
    }

    fn look(&self, stopped: &mpsc::Receiver<()>) -> Looked {
        let mut looked = Looked::default();
        let mut elapsed = None;
        let mut next = monotonic();
        loop {
            let asked = monotonic();
            let page = http::get(&self.url, &self.addresses);
            let answered = monotonic();
            let (time, middle) = (answered - asked, Nanos(asked.0 + (answered - asked).0 / 2));
            match page.map(|text| Page::parse(&text)) {
                Err(error) => looked.failed = Some(error.to_string()),
                Ok(None) => looked.failed = Some("the page does not show the time of CPUs".to_owned()),
                // Read somewhere in this time, so that its place is not known well enough.
                Ok(Some(_)) if time > EVERY => {
                    looked.failed = Some("the page takes longer than a second".to_owned())
                }
                // Something in between shows an old page.
                Ok(Some(page)) if elapsed == Some(page.elapsed) => {
                    looked.failed = Some("the counters of the page stand still".to_owned());
                }
                Ok(Some(mut page)) => {
                    elapsed = Some(page.elapsed);
                    page.reading.at = middle;
                    looked.bound = looked.bound.max(Some(Nanos(time.0 / 2)));
                    looked.failed = None;
                    looked.readings.push(page.reading);
                }
            }
            next = (next + EVERY).max(monotonic());
            match stopped.recv_timeout((next - monotonic()).into()) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return looked,
            }
        }
    }
}

/// What was seen of the page.
#[derive(Debug, Default)]
pub(super) struct Looked {
    pub readings: Readings,
    /// By how much the place of a reading may be wrong.
    pub bound: Option<Nanos>,
    /// Why the last look brought nothing.
    pub failed: Option<String>,
}

/// Looks under way; they end when this is dropped.
#[derive(Debug)]
pub(super) struct Watch {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<Looked>>,
}

impl Watch {
    /// Ends them; a look under way is awaited, which bounds its time itself.
    pub(super) fn finish(mut self) -> Looked {
        self.end()
    }

    fn end(&mut self) -> Looked {
        self.stop = None;
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.end();
    }
}
