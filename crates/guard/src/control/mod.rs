//! From what is seen to the limit: the tick.
//!
//! Some ten times a second the gate's figures and the sensors make a sample, the controller decides, and
//! the gate gets its limit. `check` keeps out what makes no sense, `keeper` holds the last proven limit
//! where the controller fails, `journal` keeps what a replay needs. `loans` decides how many may lend their
//! permits beside that.

mod baseline;
mod check;
mod journal;
mod keeper;
mod loans;
mod process;
mod sensors;
mod status;
mod tick;

pub use baseline::Baseline;
pub use check::{Fault, Sensor, values};
pub use journal::{Entry, Journal, Replayed, replay};
pub use keeper::{Keeper, Verdict};
pub use loans::Loans;
pub use process::{Place, find};
pub use sensors::{Available, Sensors};
pub use status::{ServerStatus, StatusBoard};
pub use tick::{Loop, Order, Reach, Recorder, Settings};
