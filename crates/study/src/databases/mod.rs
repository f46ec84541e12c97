//! Two databases on shared storage: table 7 of the published evaluation of shared windows, made again.
//!
//! Two hosts with a database each, DVD stores that closed clients order from as fast as they are answered. Their data are on
//! one array, whose windows a law sets by shares of 1 and 4; their redo logs are on another one that nothing bounds.
//!
//! This file has what the harness asks: a store is filled once (`record`), and for each run `pair` puts two hosts up on copies of it, `contend`
//! orders from both while it asks the hosts, and all comes down again. What the runs come to (`judge`) is pure.

mod contend;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
mod judge;
pub mod needs;
mod pair;
pub mod record;

use crate::harness::{Figure, Judgement, Notify, Order, Part, Plan, Run, Scale, Unit};
use crate::published::{At, AtWork, Bed, PublishedError, Result, Scratch};
use crate::shares::{BETA, WINDOW, way_of};
use contend::contend;
use evenkeel_core::random::Seed;
pub use judge::judge;
use pair::{Key, Pair};
use record::{Images, Setting};
pub use record::{NAMES, SHARES, THRESHOLD_S, most, parts};

/// The study's name in plans and on the command line.
pub const NAME: &str = "databases";

pub const QUESTION: &str =
    "do two databases on shared storage get the shares of orders that they were given?";

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
        judge(plan, setting, runs)
    }
}

/// All of them, in the order of columns. Without control there is no window, and beta says nothing.
pub const FIGURES: [Figure; 12] = [
    Figure::plain("orders_per_minute", ["orders", "1/min"]),
    Figure::plain("order_ms", ["an order", "ms"]),
    Figure::plain("orders_ratio", ["orders", "b / a"]),
    Figure::drawn("ios_per_s", ["I/Os", "1/s"], "I/Os per second", "I/Os")
        .on(Unit::PerSecond, Scale::Linear)
        .words("Of the disk with the data."),
    // On a linear scale one stall of the machine presses all else onto the floor.
    Figure::drawn("latency_ms", ["I/O", "ms"], "Latency", "mean latency")
        .on(Unit::Milliseconds, Scale::Logarithmic)
        .words("Mean time of an I/O in the storage, of the disk with the data, on a logarithmic scale."),
    WINDOW,
    Figure::plain("wanted", ["wanted", ""]),
    Figure::plain("outstanding", ["under way", ""]),
    BETA,
    Figure::plain("orders_per_minute_se", ["se", "within a run"]),
    Figure::plain("rolled_back", ["no stock", ""]),
    Figure::plain("lost", ["lost", ""]),
];
