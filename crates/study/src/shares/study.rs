//! The study as the harness makes it: each experiment on the virtual clock, or in real time.

use super::live::Live;
use super::{FIGURES, Setting, fio, judge, record, scaled, way_of};
use crate::harness::{Event, Figure, Judgement, Notify, Order, Part, Plan, Run, Study};
use crate::published::{self, PublishedError, Result, Scratch, Workplace};
use evenkeel_core::random::Seed;
use evenkeel_core::share::experiment::{Experiment, experiments};
use evenkeel_core::share::simulation::run as simulate;
use evenkeel_os::clock::unix_time;

/// The study, on the virtual clock or in real time.
pub struct Shares<'a> {
    workplace: Workplace<'a>,
    plan: Plan,
    setting: Setting,
    /// In real time, once it is prepared.
    scratch: Option<Scratch>,
}

impl<'a> Shares<'a> {
    pub fn of(workplace: Workplace<'a>, plan: &Plan) -> Result<Self> {
        let setting = published::setting(plan)?;
        Ok(Self { workplace, plan: plan.clone(), setting, scratch: None })
    }

    fn experiment(&self, part: &Part) -> Result<Experiment> {
        let found = experiments().into_iter().find(|experiment| experiment.name == part.name);
        let unknown = || PublishedError::wrong(format!("there is no experiment {:?}", part.name));
        Ok(scaled(&found.ok_or_else(unknown)?, self.setting))
    }
}

impl Study for Shares<'_> {
    type Error = PublishedError;

    fn figures(&self) -> &'static [Figure] {
        &FIGURES
    }

    fn takes_s(&self, part: &Part, _: &[String]) -> f64 {
        let lasts_s = self.experiment(part).map_or(0.0, |experiment| experiment.duration_s);
        if self.setting.live { lasts_s } else { 0.0 }
    }

    fn prepare(&mut self, _: &Part, _: Notify<'_>) -> Result<()> {
        if self.setting.live {
            fio::check()?;
            self.scratch = Some(Scratch::of_study(&self.workplace, &self.plan.private_name())?);
        }
        Ok(())
    }

    fn run(&mut self, order: &Order<'_>, tell: Notify<'_>) -> Result<Option<Run>> {
        let experiment = self.experiment(order.part)?;
        let way = way_of(order)?;
        let period_s = self.setting.period_s;
        let started_unix_s = unix_time().as_secs();
        let trace = match &self.scratch {
            None => Some(simulate(&experiment.scenario(way, period_s, Seed(self.plan.seed)))),
            Some(scratch) => {
                tell(Event::Step(format!("{}, {:.0} s", order.name(), experiment.duration_s)));
                let scratch = scratch.inside(&order.name())?;
                let (seed, folder) = (self.plan.seed, scratch.path());
                Live { experiment: &experiment, way, period_s, seed, folder }.run(&self.workplace)?
            }
        };
        Ok(trace.map(|trace| Run { started_unix_s, ..record(&experiment, &trace, period_s) }))
    }

    fn judge(&self, plan: &Plan, runs: &[Run]) -> Judgement {
        judge(plan, self.setting, runs)
    }
}
