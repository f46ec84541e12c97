//! What `evenkeel guard demo` shows: acts of one-second samples, as a chart, as lines, as a summary.
//!
//! No clock, no terminal: samples in, text out.

mod acts;
mod chart;
mod picture;
#[cfg(test)]
mod tests;
mod text;

pub use acts::{Act, Guarded, Sample, Show};
pub use text::{line, summary};
