//! What experiments come to, whatever was measured.

mod comparison;

pub use comparison::{Better, Comparison, Margin, MarginError, Pair, Verdict};
