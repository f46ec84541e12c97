//! The study as the harness makes it: each experiment on the virtual clock, or in real time.

use super::live::Live;
use super::{FIGURES, Setting, fio, record, scaled, way_of};
use crate::harness::{Event, Figure, Judgement, Notify, Order, Part, Plan, Run};
use crate::published::{At, AtWork, Bed, PublishedError, Result, Scratch};
use evenkeel_core::random::Seed;
use evenkeel_core::share::experiment::{Experiment, experiments};
use evenkeel_core::share::simulation::run as simulate;

pub type Shares<'a> = AtWork<'a, Hosts>;

/// Where hosts in real time have their files; on the virtual clock there are none.
pub struct Hosts(Option<Scratch>);

fn experiment(setting: Setting, part: &Part) -> Result<Experiment> {
    let found = experiments().into_iter().find(|experiment| experiment.name == part.name);
    let unknown = || PublishedError::wrong(format!("there is no experiment {:?}", part.name));
    Ok(scaled(&found.ok_or_else(unknown)?, setting))
}

impl Bed for Hosts {
    type Setting = Setting;
    const FIGURES: &'static [Figure] = &FIGURES;

    fn put_up(at: &At<'_, Setting>, _: Notify<'_>) -> Result<Self> {
        if !at.setting.live {
            return Ok(Self(None));
        }
        fio::check()?;
        Ok(Self(Some(Scratch::of_study(&at.workplace, &at.plan.private_name())?)))
    }

    fn takes_s(setting: &Setting, part: &Part, _: &[String]) -> f64 {
        let lasts_s = experiment(*setting, part).map_or(0.0, |experiment| experiment.duration_s);
        if setting.live { lasts_s } else { 0.0 }
    }

    fn run(&mut self, at: &At<'_, Setting>, order: &Order<'_>, tell: Notify<'_>) -> Result<Option<Run>> {
        let experiment = &experiment(at.setting, order.part)?;
        let (way, period_s) = (way_of(order)?, at.setting.period_s);
        let trace = match &self.0 {
            None => Some(simulate(&experiment.scenario(way, period_s, Seed(at.plan.seed)))),
            Some(scratch) => {
                tell(Event::Step(format!("{}, {:.0} s", order.name(), experiment.duration_s)));
                let scratch = scratch.inside(&order.name())?;
                let (seed, folder) = (at.plan.seed, scratch.path());
                Live { experiment, way, period_s, seed, folder }.run(&at.workplace)?
            }
        };
        Ok(trace.map(|trace| record(experiment, &trace, period_s)))
    }

    fn judge(plan: &Plan, setting: &Setting, runs: &[Run]) -> Judgement {
        super::judge(plan, *setting, runs)
    }
}
