//! Who slows whom down: jobs in two domains, each alone and beside each job of the other one.
//!
//! `setting` is what it is made by, `jobs` are the jobs and `tables` what they work on, `pair` makes a run, `judge` says what the runs
//! come to. Alone and beside are levels of the same part, so that every block has each once and drift meets all of them.

pub mod jobs;
mod judge;
mod pair;
mod setting;
pub mod tables;

use crate::harness::{Figure, Judgement, Notify, Order, Part, Plan, Run};
use crate::published::{At, AtWork, Bed, PublishedError, Result};
use jobs::{ALONE, Job};
pub use judge::judge;
use pair::Side;
pub use setting::{DOMAINS, PART, Setting, parts};

pub const NAME: &str = "interfere";
/// Beside its window a run takes so long for warm-up, connections and checks.
const AROUND_S: f64 = 0.8;

pub type Interfere<'a> = AtWork<'a, Beside>;

/// Both servers.
pub struct Beside([Side; 2]);

impl Bed for Beside {
    type Setting = Setting;
    const FIGURES: &'static [Figure] = &[
        Figure::plain("rate", ["rate", "1/s"]),
        Figure::plain("cpus", ["CPU got", "CPUs"]),
        Figure::plain("waiting", ["waits", "for CPU"]),
        Figure::plain("disk_mb_per_s", ["disk", "MB/s"]),
        Figure::plain("errors", ["errors", ""]),
        Figure::plain("faults", ["faults", ""]),
        Figure::plain("disk_ms", ["an I/O", "ms"]),
        Figure::plain("disk_percent", ["disk busy", "%"]),
        Figure::plain("steal_percent", ["steal", "%"]),
        Figure::plain("other_load_percent", ["other CPU", "%"]),
    ];

    fn put_up(at: &At<'_, Setting>, tell: Notify<'_>) -> Result<Self> {
        Ok(Self([Side::up(at, 0, tell)?, Side::up(at, 1, tell)?]))
    }

    fn takes_s(setting: &Setting, _: &Part, levels: &[String]) -> f64 {
        if is_empty(levels) { 0.0 } else { setting.seconds + AROUND_S }
    }

    fn run(&mut self, at: &At<'_, Setting>, order: &Order<'_>, _: Notify<'_>) -> Result<Option<Run>> {
        if is_empty(order.levels) {
            return Ok(Some(Run::default()));
        }
        let job = |name: &str| match Job::named(order.level(name)) {
            None if order.level(name) != ALONE => Err(PublishedError::unreadable("job")),
            job => Ok(job.filter(|job| job.is_busy())),
        };
        pair::side_by_side(at, &self.0, [job(DOMAINS[0])?, job(DOMAINS[1])?], order)
    }

    fn judge(plan: &Plan, setting: &Setting, runs: &[Run]) -> Judgement {
        judge(plan, setting, runs)
    }
}

/// Whether a run has no job at all, and nothing to measure.
fn is_empty(levels: &[String]) -> bool {
    levels.iter().all(|level| [ALONE, jobs::IDLE].contains(&level.as_str()))
}
