//! Storage measured at one depth after the other, for `evenkeel share knee`.
//!
//! `reader` keeps reads outstanding, `sweep` goes over the depths in rounds, [`evenkeel_core::share::knee`] judges, `caveat` says
//! what there is to doubt and `show` what came of it. Nothing is printed here, and nothing is written to the storage.

mod caveat;
mod reader;
mod show;
mod sweep;
#[cfg(test)]
mod tests;

pub use caveat::{Caveat, Storage, caveats};
pub use show::{DEPTH_MOST, Measurement, json, text};
pub use sweep::{Step, Sweep, SweepPlan, sweep};
