//! What I/Os cost, measured: full storage does so many of each kind in a second.
//!
//! First the depth at which the storage is full is found with reads of 16 KB; all kinds are measured at it, in rounds that
//! take them by turns, until their means are known well enough. Reads come first. Writes come after the cache in front of the
//! storage is full: while it has room they cost nothing, and what they cost is paid by whoever comes later.

mod course;
mod figures;
mod show;
#[cfg(test)]
mod tests;

pub use course::measure;
pub use figures::CostsPlan;
pub use show::{json, text};
