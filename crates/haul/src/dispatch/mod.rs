//! Loaded records go to a table for each day, and day tables that are too old are dropped.
//!
//! With transactions (InnoDB) the records of a day, or of a part of it, are copied, deleted and counted in the journal in one
//! transaction ([`transfer`]): at every moment a record is in the source or in one day table. Without them (MyISAM, Aria) the source
//! is renamed first and an empty one takes its name ([`take`]): what was taken does not change any more. Each day gets a new table with
//! its old and its new rows, which is renamed to the day table ([`fill`]); what was taken is dropped last.

mod again;
mod audit;
mod create;
mod day;
mod dispatched;
mod error;
mod fill;
mod job;
mod journal;
mod keep_out;
mod lock;
mod moved;
mod names;
mod progress;
mod retire;
mod run;
mod source;
mod sum;
mod take;
mod transfer;
mod which;
mod work;

pub use create::Create;
pub use day::{Day, NamePattern};
pub use dispatched::{Audit, DayDone, Dispatched};
pub use error::DispatchError;
pub use job::Job;
pub(crate) use keep_out::{is_nameless, keep_out};
pub(crate) use moved::{Moved, day_tables, forget, moved, retired};
pub use progress::Progress;
pub use retire::{Retire, Retired, RetiredTable, retire};
pub use run::dispatch;
pub use source::{By, Shape};
