//! A failover that others make, on servers of theirs: writers write, and what they see is counted.

use super::run::Report;
use crate::drill::{Tell, Work};
use crate::ledger::{Ledger, Plan, Writing, audit};
use crate::{HaulError, refused};
use evenkeel_core::Nanos;
use evenkeel_os::Stop;
use evenkeel_site::server::Control;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// A failover is over when writes have succeeded for so long after the last one that failed.
const QUIET: Nanos = Nanos(5_000_000_000);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A server that answers no question of ours for so long is not the one to ask.
const ANSWER: Duration = Duration::from_secs(5);

/// Writers on servers that are named, while their owner makes a failover.
pub struct Watch<'a> {
    pub home: &'a Path,
    pub plan: Plan,
    /// Ends after this time at the latest.
    pub lasts: Nanos,
    pub stop: &'a Stop,
}

impl Watch<'_> {
    /// Writes until a failover has been seen and is over, or the time is, or somebody stops it; what is known then is reported.
    /// Errors: a server refuses, or none that takes writes has the table.
    pub fn run(&self, tell: Tell<'_>) -> Result<Report, HaulError> {
        let work = Work::new(self.home)?;
        let path = work.0.join("ledger");
        let writing = Writing::start(&self.plan, &path, self.stop)?;
        tell("writing; make the failover now (Ctrl-C ends the watch)");
        self.wait(&writing);
        let written = writing.end()?;
        let ledger = Ledger::read(&path)?;
        tell("looking for each acknowledged write");
        let account = audit(&mut self.primary()?, &ledger)?;
        let gap = ledger.longest_gap(Nanos::ZERO);
        let from = gap.map_or(Nanos::ZERO, |(last, _)| last);
        Ok(Report::of(&ledger, (from, None, None), account, written.stale, None))
    }

    fn wait(&self, writing: &Writing) {
        let mut seen = (writing.written(), Nanos::ZERO);
        while !self.stop.is_set() && !writing.has_failed() && writing.now() < self.lasts {
            thread::sleep(LOOK_EVERY);
            let (now, written) = (writing.now(), writing.written());
            if written.failures() > seen.0.failures() {
                seen = (written, now);
            }
            let goes_on = written.acknowledged > seen.0.acknowledged && now - seen.1 >= QUIET;
            if written.failures() > 0 && goes_on {
                return;
            }
        }
    }

    /// The first server that takes writes.
    fn primary(&self) -> Result<Control, HaulError> {
        for target in &self.plan.targets {
            let Ok(mut control) = Control::connect_within(target, ANSWER) else { continue };
            if control.query_value("SELECT @@GLOBAL.read_only").ok().flatten().as_deref() == Some("0") {
                return Ok(control);
            }
        }
        Err(refused("no server takes writes now", "see whether the failover came to its end").into())
    }
}
