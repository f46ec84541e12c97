//! `evenkeel study throttling`: points and steps on a private server.

mod flags;
mod observe;
mod point;
mod server;
mod settle;
mod step;

use super::published::{self, Show};
use crate::command::Session;
use anyhow::{Context, Result};
use evenkeel_core::random::Seed;
use evenkeel_study::harness::{Event, Figure, Judgement, Order, Part, Plan, Run, Study, Tell, cells};
use evenkeel_study::throttling::figures::FIGURES;
use evenkeel_study::throttling::parts::{STEP, takes_s};
use evenkeel_study::throttling::record::{Load, Setting, Way};
use evenkeel_study::throttling::{self, verdict, words};
use point::Bench;
use server::Server;
use std::path::PathBuf;
use std::process::ExitCode;

pub use flags::Args;

/// Makes the study, or goes on with one, and prints what came out.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let show = Show { json: args.json, out: args.out.as_ref() };
    match &args.resume {
        Some(name) => published::resume(session, throttling::NAME, name, &show),
        None => published::start(session, &flags::plan(session, args)?, &show),
    }
}

/// The study, whose server starts when the first run needs it.
pub struct Throttling<'a> {
    session: &'a Session,
    plan: Plan,
    setting: Setting,
    bed: Option<(Server, Scratch)>,
}

impl<'a> Throttling<'a> {
    /// By its plan.
    ///
    /// # Errors
    /// Its setting is not that of this study.
    pub fn of(session: &'a Session, plan: &Plan) -> Result<Self> {
        let setting =
            serde_json::from_value(plan.setting.clone()).context("reading the setting in plan.json")?;
        Ok(Self { session, plan: plan.clone(), setting, bed: None })
    }

    fn bench(&self) -> Result<Bench<'_>> {
        let place = &self.setting.place;
        let (server, scratch) = self.bed.as_ref().context("the private server is not running")?;
        Ok(Bench {
            setting: &self.setting,
            seed: Seed(self.plan.seed),
            server,
            server_cpus: place.server_cpus.parse().context("reading the CPUs of the plan")?,
            generator_cpus: place.generator_cpus.parse().context("reading the CPUs of the plan")?,
            scratch: scratch.0.clone(),
            stop: self.session.stop.clone(),
        })
    }
}

impl Study for Throttling<'_> {
    type Error = anyhow::Error;

    fn figures(&self) -> &'static [Figure] {
        &FIGURES
    }

    fn wants(&self, part: &Part, runs: &[Run]) -> bool {
        part.name != Load::Reread.name()
            || verdict::wants_second(self.setting.second, &cells(&self.plan, runs))
    }

    fn takes_s(&self, part: &Part, levels: &[String]) -> f64 {
        takes_s(&self.setting, part, levels)
    }

    fn prepare(&mut self, part: &Part, tell: Tell<'_>) -> Result<()> {
        if self.bed.is_none() {
            let server = Server::start(self.session, &self.plan.id, self.plan.seed, &self.setting, tell)?;
            self.bed = Some((server, Scratch::new(&self.session.home, &self.plan.id)?));
        }
        let Some(load) = Load::from_name(&part.name) else { return Ok(()) };
        if let (Load::Reread, Some((server, _))) = (load, &mut self.bed) {
            server.turn_to_second(self.session, tell)?;
        }
        tell(Event::Step("warming up".to_owned()));
        let counts =
            part.factors.iter().filter(|factor| factor.name == "clients").flat_map(|factor| &factor.levels);
        let fewest = counts.filter_map(|level| level.name.parse().ok()).min().unwrap_or(1);
        self.bench()?.warm_up(fewest, self.setting.times(load).warm_up_s)
    }

    fn run(&mut self, order: &Order<'_>, tell: Tell<'_>) -> Result<Option<Run>> {
        let way = Way::from_name(order.level("way")).context("reading the way of a run in plan.json")?;
        let bench = self.bench()?;
        if order.part.name == STEP {
            return bench.step(way, order.repeat, &self.setting.step);
        }
        let load = Load::from_name(&order.part.name).context("reading the workload of a run in plan.json")?;
        let clients = order.level("clients").parse().context("reading the clients of a run in plan.json")?;
        let run = bench.point(&order.name(), way, clients, self.setting.times(load))?;
        if let Some(rest) = run.as_ref().and_then(words::rest) {
            tell(Event::Step(format!("{}: {rest}", order.name())));
        }
        Ok(run)
    }

    fn judge(&self, plan: &Plan, runs: &[Run]) -> Judgement {
        throttling::judge(plan, &self.setting, runs)
    }
}

/// A folder for journals, removed when this is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(home: &std::path::Path, id: &str) -> Result<Self> {
        let path = home.join("scratch").join(id);
        std::fs::create_dir_all(&path).with_context(|| format!("making {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A journal that stays is no harm: the next run begins a new one. The folder of all goes where it is empty.
        let _ = std::fs::remove_dir_all(&self.0);
        let _ = self.0.parent().map(std::fs::remove_dir);
    }
}
