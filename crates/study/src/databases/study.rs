//! The study as the harness makes it: a store is filled once, and every run has two hosts on copies of it.

use super::contend::contend;
use super::images::Images;
use super::needs;
use super::pair::Pair;
use super::record::{Key, Setting};
use super::{FIGURES, judge, most};
use crate::harness::{Figure, Judgement, Notify, Order, Part, Plan, Run, Study};
use crate::published::{self, PublishedError, Result, Scratch, Workplace};
use crate::shares::way_of;
use evenkeel_core::random::Seed;
use evenkeel_os::clock::unix_time;

/// What a run takes beside its load: copies, servers, mounts.
const AROUND_S: f64 = 15.0;

/// The study; its store is filled when the first run needs it.
pub struct Databases<'a> {
    workplace: Workplace<'a>,
    plan: Plan,
    setting: Setting,
    made: Option<(Images, Scratch)>,
}

impl<'a> Databases<'a> {
    pub fn of(workplace: Workplace<'a>, plan: &Plan) -> Result<Self> {
        let setting = published::setting(plan)?;
        Ok(Self { workplace, plan: plan.clone(), setting, made: None })
    }
}

impl Study for Databases<'_> {
    type Error = PublishedError;

    fn figures(&self) -> &'static [Figure] {
        &FIGURES
    }

    fn takes_s(&self, _: &Part, _: &[String]) -> f64 {
        self.setting.run_s() + AROUND_S
    }

    fn prepare(&mut self, _: &Part, tell: Notify<'_>) -> Result<()> {
        if self.made.is_none() {
            needs::check()?;
            let scratch = Scratch::of_study(&self.workplace, &self.plan.private_name())?;
            let images = Images::make(&self.workplace, scratch.path(), &self.setting, tell)?;
            self.made = Some((images, scratch));
        }
        Ok(())
    }

    fn run(&mut self, order: &Order<'_>, _: Notify<'_>) -> Result<Option<Run>> {
        let (images, scratch) =
            self.made.as_ref().ok_or_else(|| PublishedError::wrong("no store was filled"))?;
        let way = way_of(order)?;
        let unknown = || PublishedError::unreadable("most window");
        let most = most(order.part).ok_or_else(unknown)?;
        let key = Key { way, most };
        let started_unix_s = unix_time().as_secs();
        let pair = Pair::up(&self.workplace, scratch.inside("run")?, images, &self.setting, key)?;
        let seed = Seed(self.plan.seed).numbered(u64::from(order.repeat));
        let run = contend(&self.workplace, &pair, &self.setting, seed)?;
        pair.down()?;
        Ok(run.map(|run| Run { started_unix_s, ..run }))
    }

    fn judge(&self, plan: &Plan, runs: &[Run]) -> Judgement {
        judge(plan, &self.setting, runs)
    }
}
