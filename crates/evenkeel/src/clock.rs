//! The one place in the binary that reads a clock.

pub use evenkeel_lab::clock::{Clock, monotonic, unix_time};
