//! Loaded records go to a table for each day, and day tables that are too old are dropped.
//!
//! The records of a day, or of a part of it, are copied, deleted and counted in the journal in one transaction ([`transfer`]): at every
//! moment a record is in the source or in one day table.

mod again;
mod audit;
mod create;
mod day;
mod dispatched;
mod error;
mod job;
mod journal;
mod moved;
mod progress;
mod retire;
mod run;
mod source;
mod sum;
mod transfer;
mod which;
mod work;

pub use create::Create;
pub use day::{Day, NamePattern};
pub use dispatched::{Audit, DayDone, Dispatched};
pub use error::DispatchError;
pub use job::Job;
pub(crate) use moved::{day_tables, forget, moved, retired};
pub use progress::Progress;
pub use retire::{Retire, Retired, RetiredTable, retire};
pub use run::dispatch;
pub use source::{By, Shape};
