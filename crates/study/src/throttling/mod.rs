//! The throttling study: throughput against the number of clients, and who keeps it at its peak.
//!
//! This file has what the harness asks: points and steps on a private server. `server` is that, `point` and `step` are runs on it and what
//! the machine did meanwhile, `settle` waits for the limit of the published controller.
//!
//! All else is pure: `record` is the setting in its plan, `parts` which runs there are, `figures` which figures a point
//! has, `verdict` what the points say of the published finding, `words` in which sentences, `judge` all of that together.

pub mod figures;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
mod judge;
pub mod parts;
mod point;
pub mod record;
mod server;
mod settle;
mod step;
pub mod verdict;
pub mod words;

use crate::harness::{Event, Figure, Judgement, Notify, Order, Part, Plan, Run, cells};
use crate::published::{At, AtWork, Bed, PublishedError, Result, Scratch, While};
use evenkeel_core::random::Seed;
use figures::FIGURES;
pub use judge::judge;
use parts::{STEP, takes_s};
use point::Bench;
use record::{Load, Setting, Treatment};
pub use server::REREAD_TOML;
use server::Server;

/// The study's name in plans and on the command line.
pub const NAME: &str = "throttling";

pub const QUESTION: &str =
    "does throughput fall beyond a peak as clients are added, and does a controller keep it there?";

pub type Throttling<'a> = AtWork<'a, Ground>;

/// The server, and a folder for the journals of guards.
pub struct Ground {
    server: Server,
    scratch: Scratch,
}

impl Ground {
    fn bench<'a>(&'a self, at: &'a At<'_, Setting>) -> Result<Bench<'a>> {
        Ok(Bench {
            setting: &at.setting,
            workplace: at.workplace,
            seed: Seed(at.plan.seed),
            server: &self.server,
            server_cpus: at.setting.server_cpus.parse().doing(|| "reading the CPUs of the plan")?,
            generator_cpus: at.setting.generator_cpus.parse().doing(|| "reading the CPUs of the plan")?,
            scratch: self.scratch.path(),
        })
    }
}

impl Bed for Ground {
    type Setting = Setting;
    const FIGURES: &'static [Figure] = &FIGURES;

    fn put_up(at: &At<'_, Setting>, tell: Notify<'_>) -> Result<Self> {
        at.setting.machine.check_server()?;
        let server = Server::start(at, tell)?;
        Ok(Self { server, scratch: Scratch::of_study(&at.workplace, &at.plan.private_name())? })
    }

    fn ready(&mut self, at: &At<'_, Setting>, part: &Part, _: &[Run], tell: Notify<'_>) -> Result<()> {
        let Some(load) = Load::from_name(&part.name) else { return Ok(()) };
        if load == Load::Reread {
            self.server.turn_to_second(&at.workplace, tell)?;
        }
        tell(Event::Step("warming up".to_owned()));
        let counts = part.levels("clients").iter();
        let fewest = counts.filter_map(|level| level.name.parse().ok()).min().unwrap_or(1);
        self.bench(at)?.warm_up(fewest, at.setting.times(load).warm_up_s)
    }

    fn wants(at: &At<'_, Setting>, part: &Part, runs: &[Run]) -> bool {
        part.name != Load::Reread.name() || verdict::wants_second(at.setting.second, &cells(&at.plan, runs))
    }

    fn takes_s(setting: &Setting, part: &Part, levels: &[String]) -> f64 {
        takes_s(setting, part, levels)
    }

    fn run(&mut self, at: &At<'_, Setting>, order: &Order<'_>, tell: Notify<'_>) -> Result<Option<Run>> {
        let way = Treatment::from_name(order.level("way"));
        let way = way.ok_or_else(|| PublishedError::unreadable("way"))?;
        let bench = self.bench(at)?;
        if order.part.name == STEP {
            return bench.step(way, order.repeat, &at.setting.step);
        }
        let load = Load::from_name(&order.part.name).ok_or_else(|| PublishedError::unreadable("workload"))?;
        let clients = order.level("clients").parse().map_err(|_| PublishedError::unreadable("clients"))?;
        let run = bench.point(&order.name(), way, clients, at.setting.times(load))?;
        if let Some(rest) = run.as_ref().and_then(words::rest) {
            tell(Event::Step(format!("{}: {rest}", order.name())));
        }
        Ok(run)
    }

    fn judge(plan: &Plan, setting: &Setting, runs: &[Run]) -> Judgement {
        judge(plan, setting, runs)
    }
}
