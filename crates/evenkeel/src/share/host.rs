//! A host of `evenkeel share disk` as a child process of our own binary.

use super::status::{self, Status};
use crate::child::{self, Child};
use anyhow::Result;
use serde_json::Value;
use std::path::Path;

/// A host that serves; it ends when this is dropped, and with this process at the latest.
#[derive(Debug)]
pub struct Host {
    child: Child,
    places: Places,
}

/// Where clients connect, and where it serves what it shows.
#[derive(Clone, Debug, PartialEq)]
struct Places {
    nbd: String,
    metrics: String,
}

impl Host {
    /// Starts it with this configuration, which names one address for NBD, and returns when clients can connect.
    ///
    /// # Errors
    /// It does not start; with what it said.
    pub fn start(config: &Path) -> Result<Self> {
        let config = format!("--config={}", config.display());
        let flags = ["share", "disk", "--metrics=127.0.0.1:0", "--log=json", &config];
        let (child, places) =
            Child::start(&child::program()?, "host", &flags.map(str::to_owned), Places::of)?;
        Ok(Self { child, places })
    }

    /// Where NBD clients connect: `127.0.0.1:port`.
    pub fn nbd(&self) -> &str {
        &self.places.nbd
    }

    /// What it says of itself; `None` before its first period has ended.
    ///
    /// # Errors
    /// It has ended; with what it said.
    pub fn status(&self) -> Result<Option<Status>> {
        match status::read(&self.places.metrics) {
            Ok(status) => Ok(Some(status)),
            Err(_) if self.child.id().is_alive() => Ok(None),
            Err(error) => Err(error.context(format!("the host has ended: {}", self.child.last_words()))),
        }
    }

    /// Has it flush and end.
    ///
    /// # Errors
    /// It had ended badly before, or had to be killed.
    pub fn stop(self) -> Result<()> {
        self.child.stop()
    }
}

impl Places {
    /// From the event that tells of them.
    fn of(event: &Value) -> Option<Self> {
        let text = |key: &str| event.get(key)?.as_str().map(str::to_owned);
        (text("event")? == "serving").then_some(())?;
        Some(Self { nbd: text("nbd")?, metrics: text("metrics")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn where_it_serves_is_read_from_its_log() {
        assert_eq!(Places::of(&json!({ "event": "joined", "member": "a" })), None);
        let event = json!({ "event": "serving", "nbd": "127.0.0.1:1", "metrics": "127.0.0.1:7" });
        let expected = Places { nbd: "127.0.0.1:1".into(), metrics: "127.0.0.1:7".into() };
        assert_eq!(Places::of(&event), Some(expected));
    }
}
