//! Open and closed load on scheduled instants.
//!
//! arrival (scheduled instant) -> dispatch (a free session, or a new one) -> send -> first byte -> done ->
//! record. Response time counts from the arrival; what is sent late is our own error, the dispatch lag.

mod plan;
mod result;

pub use plan::{ArrivalPlan, LoadPlan, Protocol, SessionPolicy};
pub use result::{Counts, Interval, KindResult, LoadResult};
