//! Who slows whom down: jobs in two domains or three, each alone and beside the jobs of the others.
//!
//! `setting` is what it is made by, `jobs` are the jobs, `process` those without a server, and `tables` what they work on; `side` is a
//! domain that is up, `pair` makes a run and `watch` sees it, `judge` says what the runs come to, and `remedy` what helps. Alone and
//! beside are levels of the same part, so that every block has each once and drift meets all of them.

pub mod jobs;
mod judge;
mod matrices;
mod pair;
mod process;
pub mod remedy;
mod schema;
mod setting;
mod side;
mod slowdown;
pub mod tables;
mod watch;

use crate::harness::{Event, Figure, Judgement, Notify, Order, Part, Plan, Run};
use crate::published::{At, AtWork, Bed, PublishedError, Result, not_running};
use jobs::{ALONE, Job};
pub use judge::judge;
use remedy::Trial;
pub use setting::{PART, Setting, Site, names, parts};
use side::Side;

pub const NAME: &str = "interfere";
/// Beside its window a run takes so long for warm-up, connections and checks.
const AROUND_S: f64 = 0.8;

pub type Interfere<'a> = AtWork<'a, Beside>;

/// The domains, and what is changed where a remedy is tried.
pub struct Beside {
    /// `None` while there are none, and where the domains of a remedy cannot be put up.
    sides: Option<Vec<Side>>,
    trial: Option<Trial>,
    refused: Option<String>,
}

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
        check_programs(&at.plan)?;
        if at.setting.domains.iter().any(|site| matches!(site, Site::Private(_))) {
            at.setting.place.check_server()?;
        }
        for site in &at.setting.domains {
            if let Site::Private(domain) = site {
                domain.check()?;
            }
        }
        Ok(Self { sides: Some(up(at, tell)?), trial: None, refused: None })
    }

    fn ready(&mut self, at: &At<'_, Setting>, part: &Part, runs: &[Run], tell: Notify<'_>) -> Result<()> {
        let Some(trial) = Trial::of(part, &at.plan, &at.setting, runs) else { return Ok(()) };
        // They have the same names.
        self.sides = None;
        tell(Event::Step(format!("trying a remedy: {}", trial.words)));
        let setting =
            Setting { domains: trial.domains.clone().map(Site::Private).to_vec(), ..at.setting.clone() };
        let changed = At { workplace: at.workplace, plan: at.plan.clone(), setting };
        match up(&changed, tell) {
            Err(error) if !at.workplace.stop.is_set() => self.refused = Some(error.to_string()),
            outcome => (self.sides, self.refused) = (Some(outcome?), None),
        }
        self.trial = Some(trial);
        Ok(())
    }

    fn wants(at: &At<'_, Setting>, part: &Part, runs: &[Run]) -> bool {
        remedy::is_wanted(part, &at.plan, &at.setting, runs)
    }

    fn takes_s(setting: &Setting, part: &Part, levels: &[String]) -> f64 {
        match remedy::is_remedy(part) {
            true => setting.seconds + AROUND_S + remedy::START_S / part.runs() as f64,
            false if is_empty(levels) => 0.0,
            false => setting.seconds + AROUND_S,
        }
    }

    fn run(&mut self, at: &At<'_, Setting>, order: &Order<'_>, _: Notify<'_>) -> Result<Option<Run>> {
        if let Some(trial) = self.trial.as_ref().filter(|_| remedy::is_remedy(order.part)) {
            let run = match self.sides.as_ref().zip(trial.at(order.levels)) {
                Some((sides, jobs)) => pair::side_by_side(at, sides, &jobs, order)?,
                None => Some(Run::default()),
            };
            return Ok(run.map(|mut run| {
                trial.note(&mut run, self.refused.as_ref());
                run
            }));
        }
        if is_empty(order.levels) {
            return Ok(Some(Run::default()));
        }
        let sides = self.sides.as_ref().ok_or_else(not_running)?;
        let job = |side: &Side| match Job::named(order.level(&side.name)) {
            None if order.level(&side.name) != ALONE => Err(PublishedError::unreadable("job")),
            job => Ok(job.filter(|job| job.is_busy())),
        };
        let jobs = sides.iter().map(job).collect::<Result<Vec<_>>>()?;
        pair::side_by_side(at, sides, &jobs, order)
    }

    fn judge(plan: &Plan, setting: &Setting, runs: &[Run]) -> Judgement {
        remedy::said(judge(plan, setting, runs), plan, runs)
    }
}

fn up(at: &At<'_, Setting>, tell: Notify<'_>) -> Result<Vec<Side>> {
    (0..at.setting.domains.len()).map(|number| Side::up(at, number, tell)).collect()
}

/// Before any server starts.
fn check_programs(plan: &Plan) -> Result<()> {
    let levels = plan.parts.iter().flat_map(|part| &part.factors).flat_map(|factor| &factor.levels);
    let mut jobs = levels.filter_map(|level| Job::named(&level.name));
    jobs.try_for_each(|job| job.program().map_or(Ok(()), |program| check_program(program, "job", job.name)))
}

/// Errors: it is not installed, and this part of a study needs it.
pub(crate) fn check_program(program: &str, kind: &str, name: &str) -> Result<()> {
    if evenkeel_os::tools::is_there(program) {
        return Ok(());
    }
    let hint = format!("install it (Debian: apt install {program}), or leave {name} out of {kind}s");
    Err(PublishedError::with_hint(format!("there is no {program}, which the {kind} {name} needs"), hint))
}

/// Whether a run has no job at all, and nothing to measure.
fn is_empty(levels: &[String]) -> bool {
    levels.iter().all(|level| [ALONE, jobs::IDLE].contains(&level.as_str()))
}
