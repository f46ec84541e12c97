//! A failover that others make, on servers of theirs: writers write, and what they see is counted.

use super::run::Report;
use crate::drill::{Tell, wait};
use crate::ledger::{Ledger, Plan, Writing, audit};
use crate::{HaulError, refused};
use evenkeel_core::Nanos;
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use evenkeel_site::server::Control;
use std::path::Path;
use std::time::Duration;

/// A failover is over when writes have succeeded for so long after the last one that failed.
const QUIET: Nanos = Nanos(5_000_000_000);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A server that answers no question of ours for so long is not the one to ask.
const ANSWER: Duration = Duration::from_secs(5);
/// For so long a server that takes writes is looked for.
const PATIENCE: Duration = Duration::from_secs(30);

/// Writers on servers that are named, while their owner makes a failover.
pub struct Watch<'a> {
    pub plan: Plan,
    /// File to make.
    pub ledger: &'a Path,
    /// Ends after this time at the latest.
    pub lasts: Nanos,
    pub stop: &'a Stop,
}

impl Watch<'_> {
    /// Writes until a failover has been seen and is over, or the time is, or somebody stops it; what is known then is reported.
    /// Errors: a server refuses, no failover was seen, or not exactly one server takes writes afterwards.
    pub fn run(&self, tell: Tell<'_>) -> Result<Report, HaulError> {
        let writing = Writing::start(&self.plan, self.ledger, self.stop)?;
        tell("writing; make the failover now (Ctrl-C ends the watch)");
        self.look(&writing);
        let end = writing.now();
        let written = writing.end()?;
        if written.failures() == 0 {
            return Err(refused("no write failed: there was no failover", "make it while this writes").into());
        }
        let ledger = Ledger::read(self.ledger)?;
        tell("looking for each acknowledged write");
        let account = audit(&mut self.primary()?, &ledger)?;
        let last = ledger.acknowledged().map(|(_, at)| at).max().unwrap_or_default();
        let gap = ledger.longest_gap(Nanos::ZERO..end).filter(|(from, to)| *to - *from >= end - last);
        let from = gap.map_or(last, |(from, _)| from);
        Ok(Report::of(&ledger, (from, None, None), account, written.stale, None))
    }

    fn look(&self, writing: &Writing) {
        let mut failed = (writing.written(), Nanos::ZERO);
        while !writing.has_failed() && writing.now() < self.lasts && wait(LOOK_EVERY, self.stop).is_ok() {
            let (now, written) = (writing.now(), writing.written());
            if written.failures() > failed.0.failures() {
                failed = (written, now);
            }
            let goes_on = written.acknowledged > failed.0.acknowledged && now - failed.1 >= QUIET;
            if written.failures() > 0 && goes_on {
                return;
            }
        }
    }

    /// The server that takes writes.
    fn primary(&self) -> Result<Control, HaulError> {
        let clock = Clock::start();
        loop {
            let mut found = Vec::new();
            for target in &self.plan.targets {
                let Ok(mut control) = Control::connect_within(target, ANSWER) else { continue };
                if control.query_value("SELECT @@GLOBAL.read_only").ok().flatten().as_deref() == Some("0") {
                    found.push((target.address.to_string(), control));
                }
            }
            let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
            let hint = "see which one is the primary, and ask it: evenkeel drill audit URL --ledger FILE";
            match found.len() {
                1 => return Ok(found.remove(0).1),
                0 if Duration::from(clock.now()) > PATIENCE => {
                    return Err(refused("no server takes writes now", hint).into());
                }
                0 => std::thread::sleep(LOOK_EVERY),
                _ => {
                    return Err(
                        refused(format!("several servers take writes: {}", names.join(", ")), hint).into()
                    );
                }
            }
        }
    }
}
