//! A failover is made for real, while writers keep a ledger: what it cost them, and what it lost.
//!
//! [`Failover`] is the whole of it: a primary with replicas, writers, a fault, detection, promotion, and the old primary's return.

mod fault;
mod group;
mod run;
mod timeline;

pub use fault::Fault;
pub use group::Mode;
pub use run::{Failover, Report};
pub use timeline::Timeline;
