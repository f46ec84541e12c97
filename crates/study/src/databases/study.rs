//! The study as the harness makes it: a store is filled once, and every run has two hosts on copies of it.

use super::contend::contend;
use super::images::Images;
use super::pair::{Key, Pair};
use super::record::Setting;
use super::{FIGURES, most, needs};
use crate::harness::{Figure, Judgement, Notify, Order, Part, Plan, Run};
use crate::published::{At, AtWork, Bed, PublishedError, Result, Scratch};
use crate::shares::way_of;
use evenkeel_core::random::Seed;

pub type Databases<'a> = AtWork<'a, Store>;

/// A store that is filled, of which every run has copies.
pub struct Store {
    images: Images,
    scratch: Scratch,
}

impl Bed for Store {
    type Setting = Setting;
    const FIGURES: &'static [Figure] = &FIGURES;

    fn put_up(at: &At<'_, Setting>, tell: Notify<'_>) -> Result<Self> {
        needs::check()?;
        let scratch = Scratch::of_study(&at.workplace, &at.plan.private_name())?;
        Ok(Self { images: Images::make(at, scratch.path(), tell)?, scratch })
    }

    /// Copies, servers and mounts take a quarter of a minute beside the load.
    fn takes_s(setting: &Setting, _: &Part, _: &[String]) -> f64 {
        setting.within().1 + 15.0
    }

    fn run(&mut self, at: &At<'_, Setting>, order: &Order<'_>, _: Notify<'_>) -> Result<Option<Run>> {
        let most = most(order.part).ok_or_else(|| PublishedError::unreadable("most window"))?;
        let key = Key { way: way_of(order)?, most };
        let pair = Pair::up(at, self.scratch.inside("run")?, &self.images, key)?;
        let run = contend(at, &pair, Seed(at.plan.seed).numbered(order.repeat.into()))?;
        pair.down()?;
        Ok(run)
    }

    fn judge(plan: &Plan, setting: &Setting, runs: &[Run]) -> Judgement {
        super::judge(plan, setting, runs)
    }
}
