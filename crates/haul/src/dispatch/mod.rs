//! Loaded records go to a table for each day, and day tables that are too old are dropped.
//!
//! The records of a day, or of a part of it, are copied, deleted and counted in the journal in one transaction ([`transfer`]): at every
//! moment a record is in the source or in one day table.

mod create;
mod job;
mod journal;
mod retire;
mod run;
mod source;
mod transfer;
mod work;

pub use create::Create;
pub use job::{Day, Job, NamePattern};
pub(crate) use journal::{day_tables, forget, moved, retired};
pub use retire::{Retire, Retired, RetiredTable, retire};
pub use run::dispatch;
pub use source::{By, DispatchError, Shape};
pub use work::{Audit, DayDone, Dispatched, Progress};
