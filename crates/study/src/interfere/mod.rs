//! Who slows whom down: jobs in two domains, each alone and beside each job of the other one.
//!
//! `jobs` are the jobs and `tables` what they work on, `pair` makes a run, `judge` says what the runs
//! come to. Alone and beside are levels of the same part, so that every block has each once and drift meets all of them.

pub mod jobs;
mod judge;
mod pair;
pub mod tables;

use crate::harness::{Event, Factor, Figure, Judgement, Notify, Order, Part, Plan, Run};
use crate::published::{
    At, AtWork, Bed, MachineRecord, Number, Numbers, PrivateServer, PublishedError, Result,
};
use evenkeel_core::random::Seed;
use evenkeel_os::Stop;
use evenkeel_sense::cpu::{CpuOf, CpuSet};
use evenkeel_sense::disk::Device;
use evenkeel_site::sandbox::{Domain, SandboxSpec};
use evenkeel_site::server::{Control, Target};
use jobs::{ALONE, Job};
pub use judge::judge;
use serde::{Deserialize, Serialize};

pub const NAME: &str = "interfere";
pub const PART: &str = "pairs";
/// The domains by name.
pub const DOMAINS: [&str; 2] = ["a", "b"];

/// The buffer pool has this part of a domain's memory.
const POOL_PART: u64 = 2;

/// Beside its window a run takes so long for warm-up, connections and checks.
const AROUND_S: f64 = 0.8;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setting {
    pub domains: [Domain; 2],
    /// Rows of the table that is read.
    pub rows: u64,
    /// How long both jobs are watched.
    pub seconds: f64,
    pub place: MachineRecord,
}

impl Numbers for Setting {
    fn numbers(&self) -> Vec<Number> {
        vec![Number::new("rows", self.rows as f64, 500.0, 1e9), Number::measured_s("seconds", self.seconds)]
    }
}

/// The runs of these jobs of each domain.
pub fn parts(jobs: &[Vec<&'static Job>; 2], repeats: u32) -> Vec<Part> {
    let factor = |(name, jobs): (&str, &Vec<&'static Job>)| {
        let levels = [(ALONE, "no job")].into_iter().chain(jobs.iter().map(|job| (job.name, job.about)));
        let mut factor = Factor::named(name, levels);
        // The names say enough in tables; what each does stands in the guide.
        factor.levels.iter_mut().for_each(|level| level.title.clear());
        factor
    };
    let about = "Each job in its domain, while the other domain has no job, and beside each job there.";
    let factors = DOMAINS.into_iter().zip(jobs).map(factor).collect();
    vec![Part::new(PART, "who slows whom down", about, factors, repeats)]
}

pub type Interfere<'a> = AtWork<'a, Beside>;

/// Both servers.
pub struct Beside([Side; 2]);

/// The server of a domain, with the tables of all jobs.
pub struct Side {
    name: &'static str,
    server: PrivateServer,
    target: Target,
    /// What jobs of the domain may run on.
    cpus: CpuSet,
    has_own_cpus: bool,
    /// The disk that holds its data; `None` where it is none.
    disk: Option<(u32, u32)>,
    /// Of the table that is only read.
    checksum: String,
}

impl Side {
    fn up(at: &At<'_, Setting>, place: usize, tell: Notify<'_>) -> Result<Self> {
        let (name, stop) = (DOMAINS[place], at.workplace.stop);
        let domain = at.setting.domains[place].clone();
        let spec = SandboxSpec {
            name: format!("{}-{name}", at.plan.private_name()),
            home: at.workplace.home.to_owned(),
            settings: domain.memory.map(pool).into_iter().collect(),
            domain,
            ..SandboxSpec::default()
        };
        tell(Event::Step(format!("starting the server of domain {name}, with {} rows", at.setting.rows)));
        let server = PrivateServer::up(&at.workplace, &spec)?;
        let target = server.emptied("interfere", stop)?;
        let mut control = Control::connect_until(&target, stop)?;
        let checksum = tables::make(&mut control, at.setting.rows, Seed(at.plan.seed), &|| !stop.is_set())?;
        let disk = Device::of_path(server.sandbox.dir()).map(|device| device.whole());
        let (has_own_cpus, all) = (spec.domain.cpus.is_some(), CpuOf::Host.cpus().unwrap_or_default());
        Ok(Self { name, server, target, cpus: spec.domain.cpus.unwrap_or(all), has_own_cpus, disk, checksum })
    }

    fn control(&self, stop: &Stop) -> Result<Control> {
        Ok(Control::connect_until(&self.target, stop)?)
    }
}

fn pool(memory: u64) -> (String, String) {
    ("innodb_buffer_pool_size".to_owned(), (memory / POOL_PART).to_string())
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
