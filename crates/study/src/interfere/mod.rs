//! Who slows whom down: jobs in two domains or three, each alone and beside the jobs of the others.
//!
//! `setting` is what it is made by, `jobs` are the jobs, `process` those without a server, and `tables` what they work on; `side` is a
//! domain that is up, `pair` makes a run and `watch` sees it, `judge` says what the runs come to. Alone and beside are levels of the same part, so that every block has each once and drift meets all of them.

pub mod jobs;
mod judge;
mod pair;
mod process;
mod schema;
mod setting;
mod side;
pub mod tables;
mod watch;

use crate::harness::{Figure, Judgement, Notify, Order, Part, Plan, Run};
use crate::published::{At, AtWork, Bed, PublishedError, Result};
use jobs::{ALONE, Job};
pub use judge::judge;
pub use setting::{PART, Setting, Site, names, parts};
use side::Side;

pub const NAME: &str = "interfere";
/// Beside its window a run takes so long for warm-up, connections and checks.
const AROUND_S: f64 = 0.8;

pub type Interfere<'a> = AtWork<'a, Beside>;

/// The domains.
pub struct Beside(Vec<Side>);

impl Bed for Beside {
    type Setting = Setting;
    const FIGURES: &'static [Figure] = &[
        Figure::plain("rate", ["rate", "1/s"]),
        Figure::plain("cpus", ["CPU got", "CPUs"]),
        Figure::plain("waiting", ["waits", "for CPU"]),
        Figure::plain("disk_mb_per_s", ["disk", "MB/s"]),
        Figure::plain("errors", ["errors", ""]),
        Figure::plain("faults", ["faults", ""]),
        Figure::plain("net_mbit", ["network", "Mbit/s"]),
        Figure::plain("disk_ms", ["an I/O", "ms"]),
        Figure::plain("disk_percent", ["disk busy", "%"]),
        Figure::plain("kernel_lines", ["kernel", "log"]),
        Figure::plain("steal_percent", ["steal", "%"]),
        Figure::plain("other_load_percent", ["other CPU", "%"]),
    ];

    fn put_up(at: &At<'_, Setting>, tell: Notify<'_>) -> Result<Self> {
        let sides = (0..at.setting.domains.len()).map(|number| Side::up(at, number, tell));
        sides.collect::<Result<_>>().map(Self)
    }

    fn takes_s(setting: &Setting, _: &Part, levels: &[String]) -> f64 {
        if is_empty(levels) { 0.0 } else { setting.seconds + AROUND_S }
    }

    fn run(&mut self, at: &At<'_, Setting>, order: &Order<'_>, _: Notify<'_>) -> Result<Option<Run>> {
        if is_empty(order.levels) {
            return Ok(Some(Run::default()));
        }
        let job = |side: &Side| match Job::named(order.level(&side.name)) {
            None if order.level(&side.name) != ALONE => Err(PublishedError::unreadable("job")),
            job => Ok(job.filter(|job| job.is_busy())),
        };
        let jobs = self.0.iter().map(job).collect::<Result<Vec<_>>>()?;
        pair::side_by_side(at, &self.0, &jobs, order)
    }

    fn judge(plan: &Plan, setting: &Setting, runs: &[Run]) -> Judgement {
        judge(plan, setting, runs)
    }
}

/// Whether a run has no job at all, and nothing to measure.
fn is_empty(levels: &[String]) -> bool {
    levels.iter().all(|level| [ALONE, jobs::IDLE].contains(&level.as_str()))
}
