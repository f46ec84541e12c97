//! The study as the harness makes it: runs of all parts on a private server.

use super::bed::Bed;
use super::bench::Bench;
use super::days::Source;
use super::figures::FIGURES;
use super::files::Files;
use super::parts::{CRASH, DAYS, DISPATCH, EXPORT, LOAD};
use super::record::{Method, Setting};
use super::time;
use crate::harness::{Event, Figure, Judgement, Notify, Order, Part, Plan, Run, Study};
use crate::published::{self, PublishedError, Result, Scratch, While, Workplace, not_running};
use evenkeel_core::random::Seed;
use evenkeel_haul::load::Indexes;
use evenkeel_os::clock::unix_time;

/// A run that others on the machine disturbed is measured so often again, of a third of all runs at most.
const RETRIES: u32 = 1;

/// The study, whose server starts when the first run needs it.
pub struct Telecom<'a> {
    workplace: Workplace<'a>,
    plan: Plan,
    setting: Setting,
    made: Option<(Bed, Files)>,
}

impl<'a> Telecom<'a> {
    pub fn of(workplace: Workplace<'a>, plan: &Plan) -> Result<Self> {
        let setting = published::setting(plan)?;
        Ok(Self { workplace, plan: plan.clone(), setting, made: None })
    }

    fn measured(&mut self, order: &Order<'_>) -> Result<Run> {
        let (bed, files) = self.made.as_mut().ok_or_else(not_running)?;
        let mut bench = Bench { workplace: self.workplace, files, bed, name: order.name() };
        let way = || Method::from_name(order.level("way")).ok_or_else(|| PublishedError::unreadable("way"));
        match order.part.name.as_str() {
            LOAD => {
                let after = order.level("indexes") == "after";
                bench.load_run(way()?, if after { Indexes::After } else { Indexes::Before })
            }
            CRASH => bench.crash_run(way()?),
            DISPATCH => bench.dispatch_run(order.level("way")),
            DAYS => {
                let source = Source::from_name(order.level("source"));
                bench.days_run(source.ok_or_else(|| PublishedError::unreadable("source"))?)
            }
            EXPORT => bench.export_run(),
            _ => Err(PublishedError::unreadable("part")),
        }
    }
}

impl Study for Telecom<'_> {
    type Error = PublishedError;

    fn figures(&self) -> &'static [Figure] {
        &FIGURES
    }

    fn retries(&self) -> u32 {
        RETRIES
    }

    fn takes_s(&self, part: &Part, levels: &[String]) -> f64 {
        time::takes_s(&self.setting, part, levels)
    }

    fn prepare(&mut self, _: &Part, tell: Notify<'_>) -> Result<()> {
        if self.made.is_some() {
            return Ok(());
        }
        let (setting, own) = (&self.setting, self.plan.private_name());
        // What a killed study left there would pass for work that is done.
        drop(Scratch::of_study(&self.workplace, &own)?);
        let scratch = Scratch::of_study(&self.workplace, &own)?;
        let size = (setting.records, setting.days);
        let files = Files::make(&self.workplace, scratch, size, Seed(self.plan.seed), tell)?;
        tell(Event::Step("starting a private server".to_owned()));
        let bed = Bed::start(&self.workplace, &own, setting.pool_mib)?;
        self.made = Some((bed, files));
        Ok(())
    }

    fn run(&mut self, order: &Order<'_>, _: Notify<'_>) -> Result<Option<Run>> {
        let started_unix_s = unix_time().as_secs();
        match self.measured(order) {
            Ok(run) => Ok(Some(Run { started_unix_s, ..run })),
            // Whatever was under way then ended because somebody asked to stop.
            Err(_) if self.workplace.stop.is_set() => Ok(None),
            Err(error) => Err(error).doing(|| format!("measuring {}", order.name())),
        }
    }

    fn judge(&self, plan: &Plan, runs: &[Run]) -> Judgement {
        super::judge(plan, &self.setting, runs)
    }
}
