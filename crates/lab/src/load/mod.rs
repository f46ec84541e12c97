//! Open and closed load on scheduled instants.
//!
//! arrival (scheduled instant) -> dispatch (a free session, or a new one) -> send -> first byte -> done ->
//! record. Response time counts from the arrival; what is sent late is our own error, the dispatch lag, and is kept
//! apart from the wait for a session (`lateness`).
//!
//! `run` starts one `worker` per thread; `schedule` has its arrivals, `session` its connections, `recorder`
//! what became of its requests. `poller` uses the polling of `evenkeel_os`.

mod parts;
mod poller;
mod progress;
mod recorder;
mod request_log;
mod result;
mod run;
mod schedule;
mod session;
pub mod stretches;
mod tls;
mod together;
mod worker;
mod written;

pub use parts::{Noted, PartsPlan, PartsResult};
pub use progress::{LoadPhase, LoadProgress};
pub use result::{Counts, Interval, KindResult, LoadResult, Stretch, nothing_measured};
pub use run::{run, run_together};
pub use schedule::{ArrivalPlan, LoadError, LoadPlan, Protocol, SESSIONS_DEFAULT, SessionPolicy};
pub use together::Together;
pub use written::Written;
pub(crate) use written::{parameters, values};
