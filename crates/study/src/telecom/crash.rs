//! A server that is killed in the middle of a load, and what that costs.

use super::bench::{Bench, DayFile, Plan, TABLE};
use super::record::Way;
use crate::harness::Run;
use crate::published::{PublishedError, Result, timed};
use evenkeel_haul::load::Indexes;
use evenkeel_os::process::signal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Transactions of a load, so that a part of it is in before the kill.
const PARTS: u64 = 8;
/// From one look at the load to the next.
const NAP: Duration = Duration::from_micros(200);

impl Bench {
    /// Loads a day without a kill and then with one, and audits what the second load leaves.
    pub fn crash_run(&mut self, way: Way) -> Result<Run> {
        self.make_ready(way.is_tuned)?;
        let day = self.files.days[0].clone();
        let bytes = day.path.metadata().map_or(0, |found| found.len());
        let plan = Plan { way, indexes: Indexes::Before, part_bytes: bytes / PARTS + 1 };
        let (clean_s, total) = self.counted(plan, &day)?;
        // At these shares of the bytes; the next one where the load was over before the killer saw it.
        for share in [0.5, 0.25, 0.1, 0.0] {
            self.make_ready(way.is_tuned)?;
            let Some([cut_s, recovery_s, sent]) = self.cut(plan, &day, share * total)? else { continue };
            let (again_s, again) = self.counted(plan, &day)?;
            let mut run = Run::default();
            run.set("seconds", cut_s + recovery_s + again_s);
            run.set("seconds_lost", cut_s + recovery_s + again_s - clean_s);
            run.set("recovery_s", recovery_s);
            run.set("load_s", clean_s);
            run.set("killed_at_percent", 100.0 * sent / total);
            run.set("sent_twice_percent", 100.0 * (sent + again - total).max(0.0) / total);
            self.audit(&[day], &[TABLE], &mut run)?;
            return Ok(run);
        }
        Err(PublishedError::with_hint("the load was over before its server was killed", "take more records"))
    }

    /// Seconds of a load, and bytes that it sent.
    fn counted(&self, plan: Plan, day: &DayFile) -> Result<(f64, f64)> {
        let (sent, day) = (AtomicU64::new(0), std::slice::from_ref(day));
        let (_, seconds) = timed(|| self.files.load((&self.stop, &self.target), plan, day, &sent))?;
        Ok((seconds, sent.into_inner() as f64))
    }

    /// Loads, kills the server (SIGKILL) once so many bytes were sent, and starts it again: seconds of both, and what was sent until then.
    /// `None` where the load was over before. What the server had handed to the kernel is still written: this is less than a loss of power.
    fn cut(&mut self, plan: Plan, day: &DayFile, enough: f64) -> Result<Option<[f64; 3]>> {
        let (sent, pid) = (AtomicU64::new(0), self.server.sandbox.pid());
        let (files, server) = (&self.files, (&self.stop, &self.target));
        let so_far = || sent.load(Ordering::Relaxed) as f64;
        let (loaded, cut_s) = timed(|| {
            std::thread::scope(|scope| {
                let load = scope.spawn(|| files.load(server, plan, std::slice::from_ref(day), &sent));
                while !load.is_finished() && (so_far() < enough || so_far() == 0.0) {
                    std::thread::sleep(NAP);
                }
                signal(pid, libc::SIGKILL);
                Ok(load.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            })
        })?;
        let ((), recovery_s) = timed(|| self.server.restart([], &self.stop))?;
        match loaded {
            // That the server is gone is what the load has to say.
            Err(_) if !self.stop.is_set() => Ok(Some([cut_s, recovery_s, so_far()])),
            loaded => loaded.map(|_| None),
        }
    }
}
