//! A server that is killed in the middle of a load, and what that costs.

use super::bench::{Bench, Plan, TABLE};
use super::record::Method;
use crate::harness::Run;
use crate::published::{PublishedError, Result};
use evenkeel_haul::load::Indexes;
use evenkeel_os::clock::monotonic;
use evenkeel_site::server::Control;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Transactions of a load, so that a part of it is in before the kill.
const PARTS: u64 = 8;
/// From one look at the load to the next.
const NAP: Duration = Duration::from_micros(200);
/// At these shares of the bytes the server is killed; the next one where the load was over before the killer saw it.
const KILL_AT: [f64; 4] = [0.5, 0.25, 0.1, 0.0];

struct Cut {
    seconds: f64,
    sent: u64,
}

impl Bench<'_> {
    /// Loads a day without a kill and then with one, and audits what the second load leaves.
    pub fn crash_run(&mut self, way: Method) -> Result<Run> {
        self.bed.make_ready(way.tuning(), &self.workplace)?;
        let (mut run, days) = (Run::default(), &self.files.days[..1]);
        let bytes = days[0].path.metadata().map_or(0, |found| found.len());
        let plan = Plan { part_bytes: bytes / PARTS + 1, ..Plan::of(way, Indexes::Before) };
        let total = AtomicU64::new(0);
        let clean = self.load(plan, vec![days[0].input()], &total)?;
        let total = total.into_inner().max(1);
        let (cut, recovery_s) = self.cut_somewhere(plan, total)?;
        let again = AtomicU64::new(0);
        let again_s = self.load(plan, vec![days[0].input()], &again)?.seconds;
        let twice = (cut.sent + again.into_inner()).saturating_sub(total);
        run.set("seconds", cut.seconds + recovery_s + again_s);
        run.set("seconds_lost", cut.seconds + recovery_s + again_s - clean.seconds);
        run.set("recovery_s", recovery_s);
        run.set("load_s", clean.seconds);
        run.set("killed_at_percent", 100.0 * cut.sent as f64 / total as f64);
        run.set("sent_twice_percent", 100.0 * twice as f64 / total as f64);
        let audit_s = self.audit(days, &[TABLE.to_owned()], &mut run)?;
        run.set("audit_s", audit_s);
        Ok(run)
    }

    /// Whether all records are in although the load was told that the server is gone: it had committed them.
    fn all_is_in(&self) -> Result<bool> {
        let mut control = Control::connect_until(&self.bed.target()?, self.workplace.stop)?;
        let is_there = control.query_value(&format!("SHOW TABLES LIKE '{TABLE}'"))?.is_some();
        let rows =
            if is_there { control.query_value(&format!("SELECT COUNT(*) FROM {TABLE}"))? } else { None };
        Ok(rows.is_some_and(|rows| rows == self.files.days[0].records.to_string()))
    }

    /// What the cut load had done, and the seconds until the server was back.
    fn cut_somewhere(&mut self, plan: Plan, total: u64) -> Result<(Cut, f64)> {
        for share in KILL_AT {
            self.bed.clear(&self.workplace)?;
            if let Some(cut) = self.cut(plan, (share * total as f64) as u64)? {
                let began = monotonic();
                self.bed.start_again(&self.workplace)?;
                let recovery_s = (monotonic() - began).as_secs_f64();
                if !self.all_is_in()? {
                    return Ok((cut, recovery_s));
                }
            }
        }
        Err(PublishedError::with_hint(
            format!("{}: the load was over before the server could be killed", self.name),
            "take more records",
        ))
    }

    /// Loads, and kills the server once so many bytes were sent; `None` where the load was over before.
    fn cut(&mut self, plan: Plan, enough: u64) -> Result<Option<Cut>> {
        let (sent, over) = (AtomicU64::new(0), AtomicBool::new(false));
        let (target, input) = (self.bed.target()?, self.files.days[0].input());
        // The program around the studies belongs to this thread.
        let (files, stop) = (self.files, self.workplace.stop);
        let began = monotonic();
        let (loaded, killed) = std::thread::scope(|scope| {
            let load = scope.spawn(|| {
                let loaded = files.load(stop, &target, (plan, vec![input]), &sent);
                over.store(true, Ordering::Relaxed);
                loaded
            });
            let killed = self.kill_when((&sent, enough), &over);
            (load.join(), killed)
        });
        let seconds = (monotonic() - began).as_secs_f64();
        match (loaded, killed?) {
            // That the server is gone is what the load has to say.
            (Ok(Err(_)), true) if !self.workplace.stop.is_set() => {
                Ok(Some(Cut { seconds, sent: sent.into_inner() }))
            }
            (Ok(Err(error)), _) => Err(error),
            // All was in before the kill met the server, which has to come back.
            (Ok(Ok(_)), true) => self.bed.start_again(&self.workplace).map(|()| None),
            (Ok(Ok(_)), false) => Ok(None),
            (Err(panic), _) => std::panic::resume_unwind(panic),
        }
    }

    fn kill_when(&self, (sent, enough): (&AtomicU64, u64), over: &AtomicBool) -> Result<bool> {
        while !over.load(Ordering::Relaxed) {
            let so_far = sent.load(Ordering::Relaxed);
            if so_far > 0 && so_far >= enough {
                return self.bed.kill().map(|()| true);
            }
            std::thread::sleep(NAP);
        }
        Ok(false)
    }
}
