//! The one place in the binary that reads a clock.

pub use evenkeel_os::clock::{Clock, monotonic, unix_time};
