//! What experiments come to, whatever was measured, and in which order their runs are made.

mod comparison;
mod order;

pub use comparison::{Better, Comparison, Margin, MarginError, Pair, Side, Verdict};
pub use order::{combinations, shuffled};
