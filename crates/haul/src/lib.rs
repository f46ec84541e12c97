//! Carries data, and proves that none was lost.
//!
//! [`layout`] reads how records lie from a file, [`input`] finds files and opens them, [`blocks`] cuts them where records end,
//! [`keys`] finds records that come twice, [`convert`] makes delimited files of them on all CPUs, in order and with a bounded
//! memory, [`load`] makes rows of them in a database, and [`audit`] holds files against tables. [`table`] has the tables that records go to,
//! [`dispatch`] moves loaded records to a table for each day, [`export`] makes files of tables, [`ledger`] accounts for writes, [`drill`] recovers and [`failover`] fails over to prove it, [`watch`] takes files through load and dispatch as they appear, and
//! [`generate`] makes records to try it on. A record is a line of the output or a line of the rejects, never both and never neither; a load that was ended goes on where it was.
#![forbid(unsafe_code)]

pub mod audit;
pub mod blocks;
pub mod convert;
pub mod dispatch;
pub mod drill;
mod error;
pub mod export;
pub mod failover;
pub mod generate;
pub mod input;
pub mod keys;
pub mod layout;
pub mod ledger;
pub mod load;
mod session;
pub mod table;
pub mod watch;

pub(crate) use error::refused;
pub use error::{HaulError, Refused};

pub use convert::{Progress, Step};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a mutex guards, also where a thread that had it panicked: that ends its work anyway.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
