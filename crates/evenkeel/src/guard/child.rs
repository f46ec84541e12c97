//! A guard as a child process of our own binary, for whoever needs one beside a server of ours.

use super::show;
use super::show::Status;
use crate::child;
use crate::child::{DEADLINE, PATIENCE, Plan};
use anyhow::{Context, Result};
use evenkeel_os::clock::Clock;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Settings of each: its log is read, and who stops it waits two seconds for transactions, and kills it after five.
const SETTINGS: &str = "log = 'json'\ndrain = '2s'\n";

/// What kind of guard it is to be.
#[derive(Clone, Debug)]
pub struct Spec {
    pub backend: String,
    /// Where its configuration may be until it has read that.
    pub file: PathBuf,
    pub settings: String,
}

/// A running guard; it ends when this is dropped, and with this process at the latest.
#[derive(Debug)]
pub struct Child {
    pub child: child::Child,
    pub address: String,
    pub metrics: String,
}

impl Child {
    /// Starts it on free ports of 127.0.0.1 and returns when it listens and its controller has ticked.
    /// Errors: it does not start, or ends at once; then with what it said.
    pub fn start(spec: &Spec) -> Result<Self> {
        Self::start_program(&child::program()?, spec)
    }

    fn start_program(program: &Path, spec: &Spec) -> Result<Self> {
        let file = spec.file.display();
        fs::write(&spec.file, format!("{SETTINGS}{}", spec.settings))
            .with_context(|| format!("writing {file}"))?;
        let arguments = [
            "guard".to_owned(),
            "--listen=127.0.0.1:0".to_owned(),
            "--metrics=127.0.0.1:0".to_owned(),
            format!("--backend={}", spec.backend),
            format!("--config={file}"),
        ];
        let plan =
            Plan { program, what: "guard", arguments: &arguments, patience: PATIENCE, deadline: DEADLINE };
        let started = child::Child::start(&plan, places);
        // It has been read, or never will be.
        let _ = fs::remove_file(&spec.file);
        let (child, (address, metrics)) = started?;
        let child = Self { child, address, metrics };
        child.wait_for_a_tick()?;
        Ok(child)
    }

    fn wait_for_a_tick(&self) -> Result<()> {
        let clock = Clock::start();
        while let Err(error) = self.status() {
            if Duration::from(clock.now()) > PATIENCE || !self.child.id().is_alive() {
                return Err(error.context(format!("waiting for the guard: {}", self.child.last_words())));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Its status, as it serves it.
    /// Errors: it does not answer within some seconds, or has ended.
    pub fn status(&self) -> Result<Status> {
        show::read(&self.metrics)
    }
}

/// Where it listens and where it serves its metrics, as its event of the start has them.
fn places(event: &Value) -> Option<(String, String)> {
    let text = |key: &str| event.get(key)?.as_str().map(str::to_owned);
    (text("event")? == "listening").then_some(())?;
    Some((text("address")?, text("metrics")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The binary beside the folder of this test.
    fn program() -> PathBuf {
        let test = std::env::current_exe().unwrap();
        let program = test.parent().and_then(Path::parent).unwrap().join("evenkeel");
        assert!(program.exists(), "{} is not built: run `cargo build -p evenkeel`", program.display());
        program
    }

    /// One with a fixed limit and `more` below `[control]`, by `program`; its file is gone once it has started or not.
    fn start_program(program: &Path, limit: u32, more: &str) -> Result<Child> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("guard.toml");
        let settings = format!("[control]\ncontroller = 'fixed'\ninitial_limit = {limit}\n{more}");
        // Nobody listens at port 1, and nobody asks for it before a client comes.
        let spec = Spec { backend: "127.0.0.1:1".to_owned(), file, settings };
        let started = Child::start_program(program, &spec);
        assert!(!spec.file.exists());
        started
    }

    fn start(limit: u32, more: &str) -> Result<Child> {
        start_program(&program(), limit, more)
    }

    #[test]
    fn a_guard_is_started_asked_and_stopped() {
        let child = start(7, "").unwrap();
        let status = (0..30).find_map(|_| child.status().ok()).unwrap();
        let id = child.child.id();
        assert_eq!((status.limit, status.controller.as_str()), (7, "fixed"));
        assert!(id.is_alive() && std::net::TcpStream::connect(&child.address).is_ok());
        child.child.stop().unwrap();
        assert!(!id.is_alive());
    }

    #[test]
    fn what_is_dropped_ends_and_leaves_its_journal() {
        let dir = tempfile::tempdir().unwrap();
        let journal = dir.path().join("a journal");
        let child = start(3, &format!("journal = '{}'", journal.display())).unwrap();
        let id = child.child.id();
        drop(child);
        assert!(!id.is_alive());
        assert!(std::fs::read_to_string(journal).unwrap().contains("\"decided\":3"));
    }

    #[test]
    fn a_guard_that_cannot_start_says_why() {
        let wrong = "[client_tls]\ncertificate = '/none'\nkey = '/none'";
        let error = format!("{:#}", start(1, wrong).unwrap_err());
        assert!(error.contains("does not listen") && error.contains("/none"), "{error}");
        let missing = start_program(Path::new("/none/evenkeel"), 1, "").unwrap_err();
        assert!(format!("{missing:#}").contains("starting /none/evenkeel"), "{missing:#}");
    }

    #[test]
    fn a_guard_that_was_killed_is_no_success() {
        let child = start(1, "").unwrap();
        child.child.id().end(Duration::ZERO);
        let error = child.child.stop().unwrap_err();
        assert!(error.to_string().contains("signal: 9"), "{error}");
    }
}
