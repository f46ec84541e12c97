//! A published study at work: where it works, what it has put up for its runs, and what the harness wants to know of it.

use super::program::Program;
use super::setting::{Numbers, setting};
use super::{PublishedError, Result, While};
use crate::harness::{Figure, Judgement, Notify, Order, Part, Plan, Run, Study};
use evenkeel_os::stop::Stop;
use serde::de::DeserializeOwned;
use std::path::Path;

/// Where a published study works, and with what.
#[derive(Clone, Copy)]
pub struct Workplace<'a> {
    /// Folder for private servers and for what only runs need.
    pub home: &'a Path,
    /// Set by whoever wants the study to stop.
    pub stop: &'a Stop,
    /// Who starts guards and hosts.
    pub program: &'a dyn Program,
}

/// What a study is told: where it works, by which plan, and its own setting in that.
pub struct At<'a, Setting> {
    pub workplace: Workplace<'a>,
    pub plan: Plan,
    pub setting: Setting,
}

/// What a study puts up for its runs when the first one needs it; and all else that is its own.
pub trait Bed: Sized {
    type Setting: DeserializeOwned + Numbers;
    const FIGURES: &'static [Figure];

    fn put_up(at: &At<'_, Self::Setting>, tell: Notify<'_>) -> Result<Self>;

    /// Before the first run of a part that is missing.
    fn ready(&mut self, _: &At<'_, Self::Setting>, _: &Part, _: Notify<'_>) -> Result<()> {
        Ok(())
    }

    /// As the harness asks it.
    fn wants(_: &At<'_, Self::Setting>, _: &Part, _: &[Run]) -> bool {
        true
    }

    /// As the harness asks it.
    fn takes_s(setting: &Self::Setting, part: &Part, levels: &[String]) -> f64;

    /// Makes a run; `None` where somebody asked to stop. An error is none then, too.
    fn run(&mut self, at: &At<'_, Self::Setting>, order: &Order<'_>, tell: Notify<'_>)
    -> Result<Option<Run>>;

    fn judge(plan: &Plan, setting: &Self::Setting, runs: &[Run]) -> Judgement;
}

/// A study for the harness.
pub struct AtWork<'a, B: Bed> {
    at: At<'a, B::Setting>,
    bed: Option<B>,
}

impl<'a, B: Bed> AtWork<'a, B> {
    pub fn of(workplace: Workplace<'a>, plan: &Plan) -> Result<Self> {
        Ok(Self { at: At { workplace, plan: plan.clone(), setting: setting(plan)? }, bed: None })
    }
}

impl<B: Bed> Study for AtWork<'_, B> {
    type Error = PublishedError;

    fn figures(&self) -> &'static [Figure] {
        B::FIGURES
    }

    fn wants(&self, part: &Part, runs: &[Run]) -> bool {
        B::wants(&self.at, part, runs)
    }

    fn takes_s(&self, part: &Part, levels: &[String]) -> f64 {
        B::takes_s(&self.at.setting, part, levels)
    }

    fn prepare(&mut self, part: &Part, tell: Notify<'_>) -> Result<()> {
        let bed = match self.bed.take() {
            Some(bed) => bed,
            None => B::put_up(&self.at, tell)?,
        };
        self.bed.insert(bed).ready(&self.at, part, tell)
    }

    fn run(&mut self, order: &Order<'_>, tell: Notify<'_>) -> Result<Option<Run>> {
        let bed = self.bed.as_mut().ok_or_else(not_running)?;
        match bed.run(&self.at, order, tell) {
            // Whatever was under way then ended because of that.
            Err(_) if self.at.workplace.stop.is_set() => Ok(None),
            outcome => outcome.doing(|| format!("measuring {}", order.name())),
        }
    }

    fn judge(&self, plan: &Plan, runs: &[Run]) -> Judgement {
        B::judge(plan, &self.at.setting, runs)
    }
}

pub(crate) fn not_running() -> PublishedError {
    PublishedError::wrong("the private server is not running")
}
