//! Storage measured at one depth after the other, for `evenkeel share knee`.
//!
//! `client` keeps reads outstanding, `sweep` goes over the depths in rounds, [`evenkeel_core::share::knee`] judges, `caveat` says
//! what there is to doubt and `show` what came of it. `costs` measures what
//! I/Os of other kinds and sizes cost. Nothing is printed here, and but for `costs` with its flag nothing is written to the storage.

mod caveat;
mod client;
pub mod costs;
mod show;
mod sweep;
#[cfg(test)]
mod tests;

pub use caveat::{Storage, caveats, label, storage_caveats};
pub use client::Step;
pub use show::{DEPTH_MOST, Measurement, json, text};
pub use sweep::{Sweep, SweepPlan, sweep};
