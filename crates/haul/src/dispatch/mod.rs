//! Loaded records go to a table for each day, and day tables that are too old are dropped.
//!
//! With transactions (InnoDB) the records of a day, or of a part of it, are copied, deleted and counted in the journal in one
//! transaction ([`transfer`]): at every moment a record is in the source or in one day table. Without them (MyISAM, Aria) the source
//! is renamed first and an empty one takes its name ([`take`]): what was taken does not change any more, so that a day that was
//! cut can be undone and begun again, and it is dropped only after counts and checksums agree. By `exchange` a partition becomes
//! the day's table ([`partitions`]), without a row being copied.

mod again;
mod append;
mod audit;
mod create;
mod day;
mod dispatched;
mod error;
mod job;
mod journal;
mod keep_out;
mod lock;
mod method;
mod moved;
mod names;
mod partitions;
mod procedures;
mod progress;
mod retire;
mod run;
mod source;
mod take;
mod transfer;
mod which;
mod work;

pub use create::Create;
pub use day::{Day, NamePattern};
pub use dispatched::{Audit, DayDone, Dispatched};
pub use error::DispatchError;
pub use job::Job;
pub use journal::JOURNAL;
pub(crate) use keep_out::{is_nameless, keep_out};
pub use method::Method;
pub(crate) use moved::{Moved, day_tables, forget, moved};
pub use procedures::{PROCEDURES, remove as remove_procedures};
pub use progress::Progress;
pub use retire::{Retire, Retired, RetiredTable, retire};
pub use run::dispatch;
pub use source::{By, Shape};
