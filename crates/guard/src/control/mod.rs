//! From what is seen to the limit: the tick.
//!
//! Some ten times a second the gate's figures and the sensors make a sample, the controller decides, and
//! the gate gets its limit. `check` leaves out figures that make no sense, `supervised` keeps the last proven limit
//! where the controller fails.

mod process;
mod sensors;
mod tick;

pub use process::{LatestStatus, ServerAddress, ServerStatus, find};
pub use sensors::{Available, Sensors};
pub use tick::{Entry, Loop, Order, Reach, Recorder, Settings};
