//! Distributions of parameters: which row, which item, which statement.

mod nurand;
mod weighted;
mod zipf;

pub use nurand::NuRand;
pub use weighted::{WeightError, WeightedChoice};
pub use zipf::{Zipf, ZipfError};
