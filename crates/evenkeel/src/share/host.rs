//! A host that shares storage as a child process of our own binary: its disks over NBD, or its one disk mounted.

use super::top;
use crate::child::{self, Child, DEADLINE, PATIENCE, Plan};
use anyhow::{Result, bail};
use evenkeel_os::tools;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time for a mounted disk to be taken down: what is still to be written goes through its window.
const UNMOUNT: Duration = Duration::from_secs(90);

/// A host that serves; it ends when this is dropped, and with this process at the latest.
#[derive(Debug)]
pub struct Host {
    child: Child,
    places: Places,
    at: Option<Mountpoint>,
}

#[derive(Clone, Debug, PartialEq)]
struct Places {
    nbd: String,
    metrics: String,
}

/// A folder with a disk of the host; dropped after its process has ended.
#[derive(Debug)]
struct Mountpoint(PathBuf);

impl Host {
    /// Starts it with this configuration, which names one address for NBD and logs as JSON, and returns when clients can
    /// connect.
    /// Errors: it does not start; with what it said.
    pub fn start(config: &Path) -> Result<Self> {
        let flags = ["share".into(), "disk".into()].into_iter().chain(common(config)).collect();
        Self::with(flags, DEADLINE, |event| Places::of(event, "serving"), None)
    }

    /// Starts it with this configuration of one disk, and returns when that is mounted at `at`.
    /// Errors: it does not start, or the disk cannot be mounted; with what it said.
    pub fn mount(config: &Path, at: &Path) -> Result<Self> {
        let mut flags: Vec<String> = vec!["share".into(), "mount".into()];
        flags.extend(common(config));
        // It keeps nothing in a home, but asks for one.
        flags.extend([format!("--at={}", at.display()), format!("--home={}", at.display())]);
        Self::with(flags, UNMOUNT, |event| Places::of(event, "mounted"), Some(Mountpoint(at.to_owned())))
    }

    fn with(
        arguments: Vec<String>,
        deadline: Duration,
        hears: fn(&Value) -> Option<Places>,
        at: Option<Mountpoint>,
    ) -> Result<Self> {
        let program = child::program()?;
        let plan =
            Plan { program: &program, what: "host", arguments: &arguments, patience: PATIENCE, deadline };
        let (child, places) = Child::start(&plan, hears)?;
        Ok(Self { child, places, at })
    }

    pub fn nbd(&self) -> &str {
        &self.places.nbd
    }

    pub fn check(&self) -> Result<()> {
        match self.child.id().is_alive() {
            true => Ok(()),
            false => bail!("the host has ended: {}", self.child.last_words()),
        }
    }

    /// Its status, as it serves it; `None` before its first period has ended.
    /// Errors: it has ended; with what it said.
    pub fn status<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        match top::read(&self.places.metrics) {
            Ok(status) => Ok(Some(status)),
            Err(_) => self.check().map(|()| None),
        }
    }

    /// Has it unmount its disk, flush and end.
    /// Errors: it had ended badly before, or had to be killed.
    pub fn stop(self) -> Result<()> {
        let Self { child, at, .. } = self;
        let stopped = child.stop();
        drop(at);
        stopped
    }
}

fn common(config: &Path) -> [String; 2] {
    ["--metrics=127.0.0.1:0".into(), format!("--config={}", config.display())]
}

impl Places {
    /// Of the event of this name; a disk that is mounted need not have an address.
    fn of(event: &Value, name: &str) -> Option<Self> {
        let text = |key: &str| event.get(key)?.as_str().map(str::to_owned);
        (text("event")? == name).then_some(())?;
        Some(Self { nbd: text("nbd").unwrap_or_default(), metrics: text("metrics")? })
    }
}

impl Drop for Mountpoint {
    /// Where the process had to be killed the mount is still there, and answers nothing: nobody is helped by it.
    fn drop(&mut self) {
        let device = |path: &Path| fs::metadata(path).map(|found| found.dev()).ok();
        let above = self.0.parent().and_then(device);
        if device(&self.0) != above {
            // Who needs to know of it has the error of the process.
            let _ = tools::run("umount", &[OsStr::new("--lazy"), self.0.as_os_str()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn where_it_serves_is_read_from_its_log() {
        assert_eq!(Places::of(&json!({ "event": "joined", "member": "a" }), "serving"), None);
        let event = json!({ "event": "serving", "nbd": "127.0.0.1:1", "metrics": "127.0.0.1:7" });
        let expected = Places { nbd: "127.0.0.1:1".into(), metrics: "127.0.0.1:7".into() };
        assert_eq!(Places::of(&event, "serving"), Some(expected));
        assert_eq!(Places::of(&event, "mounted"), None, "it serves, and is not mounted yet");
        let event = json!({ "event": "mounted", "at": "/a", "metrics": "127.0.0.1:7" });
        let expected = Places { nbd: String::new(), metrics: "127.0.0.1:7".into() };
        assert_eq!(Places::of(&event, "mounted"), Some(expected));
    }
}
