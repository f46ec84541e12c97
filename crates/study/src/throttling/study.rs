//! The study as the harness makes it: points and steps on a private server.

use super::figures::FIGURES;
use super::parts::{STEP, takes_s};
use super::point::Bench;
use super::record::{Load, Setting, Treatment};
use super::server::Server;
use super::{verdict, words};
use crate::harness::{Event, Figure, Judgement, Notify, Order, Part, Plan, Run, Study, cells};
use crate::published::{self, PublishedError, Result, Scratch, While, Workplace, not_running};
use evenkeel_core::random::Seed;

/// How often a point is measured again that the hypervisor or others on the machine disturbed: as often as those of a profile.
const RETRIES: u32 = 1;

/// The study, whose server starts when the first run needs it.
pub struct Throttling<'a> {
    workplace: Workplace<'a>,
    plan: Plan,
    setting: Setting,
    bed: Option<(Server, Scratch)>,
}

impl<'a> Throttling<'a> {
    pub fn of(workplace: Workplace<'a>, plan: &Plan) -> Result<Self> {
        let setting = published::setting(plan)?;
        Ok(Self { workplace, plan: plan.clone(), setting, bed: None })
    }

    fn bench(&self) -> Result<Bench<'_>> {
        let (server, scratch) = self.bed.as_ref().ok_or_else(not_running)?;
        Ok(Bench {
            setting: &self.setting,
            seed: Seed(self.plan.seed),
            server,
            server_cpus: self.setting.server_cpus.parse().doing(|| "reading the CPUs of the plan")?,
            generator_cpus: self.setting.generator_cpus.parse().doing(|| "reading the CPUs of the plan")?,
            scratch: scratch.path(),
            stop: self.workplace.stop,
            program: self.workplace.program,
        })
    }
}

impl Study for Throttling<'_> {
    type Error = PublishedError;

    fn figures(&self) -> &'static [Figure] {
        &FIGURES
    }

    fn wants(&self, part: &Part, runs: &[Run]) -> bool {
        part.name != Load::Reread.name()
            || verdict::wants_second(self.setting.second, &cells(&self.plan, runs))
    }

    fn retries(&self) -> u32 {
        RETRIES
    }

    fn takes_s(&self, part: &Part, levels: &[String]) -> f64 {
        takes_s(&self.setting, part, levels)
    }

    fn prepare(&mut self, part: &Part, tell: Notify<'_>) -> Result<()> {
        if self.bed.is_none() {
            let own = self.plan.private_name();
            let server = Server::start(&self.workplace, &own, self.plan.seed, &self.setting, tell)?;
            self.bed = Some((server, Scratch::of_study(&self.workplace, &own)?));
        }
        let Some(load) = Load::from_name(&part.name) else { return Ok(()) };
        if let (Load::Reread, Some((server, _))) = (load, &mut self.bed) {
            server.turn_to_second(&self.workplace, tell)?;
        }
        tell(Event::Step("warming up".to_owned()));
        let counts =
            part.factors.iter().filter(|factor| factor.name == "clients").flat_map(|factor| &factor.levels);
        let fewest = counts.filter_map(|level| level.name.parse().ok()).min().unwrap_or(1);
        self.bench()?.warm_up(fewest, self.setting.times(load).warm_up_s)
    }

    fn run(&mut self, order: &Order<'_>, tell: Notify<'_>) -> Result<Option<Run>> {
        let way =
            Treatment::from_name(order.level("way")).ok_or_else(|| PublishedError::unreadable("way"))?;
        let bench = self.bench()?;
        if order.part.name == STEP {
            return bench.step(way, order.repeat, &self.setting.step);
        }
        let load = Load::from_name(&order.part.name).ok_or_else(|| PublishedError::unreadable("workload"))?;
        let clients = order.level("clients").parse().map_err(|_| PublishedError::unreadable("clients"))?;
        let run = bench.point(&order.name(), way, clients, self.setting.times(load))?;
        if let Some(rest) = run.as_ref().and_then(words::rest) {
            tell(Event::Step(format!("{}: {rest}", order.name())));
        }
        Ok(run)
    }

    fn judge(&self, plan: &Plan, runs: &[Run]) -> Judgement {
        super::judge(plan, &self.setting, runs)
    }
}
