//! A failover is made for real, while writers keep a ledger: what it cost them, and what it lost.
//!
//! [`Failover`] is the whole of it: a primary with replicas, writers, a fault, detection, promotion, and the old primary's return.
//! [`Watch`] counts what a failover of others costs.

mod fault;
mod group;
mod reach;
mod run;
mod timeline;
mod watch;

pub use fault::Fault;
pub use group::Mode;
pub use reach::Reach;
pub use run::{Failover, Made, Report};
pub use timeline::Timeline;
pub use watch::Watch;
