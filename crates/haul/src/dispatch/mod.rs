//! Loaded records go to a table for each day, and day tables that are too old are dropped.
//!
//! With transactions (InnoDB) the records of a day, or of a part of it, are copied, deleted and counted in the journal in one
//! transaction ([`transfer`]): at every moment a record is in the source or in one day table. Without them (MyISAM, Aria) the source
//! is renamed first and an empty one takes its name ([`take`]): what was taken does not change any more, so that a day that was
//! cut can be undone and begun again, and it is dropped only after counts and checksums agree. By `exchange` a partition becomes
//! the day's table ([`partitions`]), without a row being copied.

mod append;
mod create;
mod day;
mod error;
mod journal;
mod partitions;
mod procedures;
mod retire;
mod source;
mod take;
mod transfer;

mod which;
mod work;

pub use create::Create;
pub use day::{Day, NamePattern};
pub use error::DispatchError;
pub use journal::JOURNAL;
pub use procedures::{PROCEDURES, remove as remove_procedures};
pub use retire::{Retire, Retired, RetiredTable, retire};
pub use source::{By, Shape};
pub use work::dispatch;

use serde::Serialize;

/// By which way records are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// INSERT ... SELECT.
    Insert,
    /// The same by stored procedures that write the statements.
    Procedure,
    /// Partitions become tables; late records go by `Insert`.
    Exchange,
}

impl Way {
    /// As the journal has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Procedure => "procedure",
            Self::Exchange => "exchange",
        }
    }
}

/// What is to be dispatched, and how.
#[derive(Clone, Debug)]
pub struct Job {
    /// The source.
    pub table: String,
    /// Its column that has the day.
    pub by: String,
    /// By which way.
    pub way: Way,
    /// How day tables are called.
    pub names: NamePattern,
    /// Whether day tables get the indexes that refuse nothing after they were filled.
    pub indexes_after: bool,
    /// Table for records without a date; they stay where there is none.
    pub null_day: Option<String>,
    /// Records that one transaction moves, about.
    pub batch: u64,
    /// Days beyond which the dates are doubted.
    pub days_max: usize,
}

/// What became of a source's records.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Dispatched {
    /// Each day, the earliest first; what a dispatch that was cut had left comes before.
    pub days: Vec<DayDone>,
    /// Records that are in day tables now and were not before.
    pub records: u64,
    /// Records without a date that stay in the source.
    pub undated: u64,
    /// Whether this went on with a dispatch that was cut.
    pub resumed: bool,
    /// Whether the source was partitioned by day for this, which copies all of its rows.
    pub partitioned: bool,
}

/// What became of the records of a day.
#[derive(Clone, Debug, Serialize)]
pub struct DayDone {
    /// The day; none of records without one.
    pub day: Option<Day>,
    /// Where they are.
    pub table: String,
    /// How many were moved.
    pub records: u64,
    /// By which way.
    pub way: Way,
    /// Whether the table was made for them.
    pub created: bool,
    /// Why the way is another one than was asked for.
    pub note: Option<String>,
    /// Why they were not moved, in the server's words; they are in the source.
    pub refused: Option<String>,
}

/// How far a dispatch is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Something begins that has no measure.
    Step(String),
    /// Records of this table are moved.
    Moving {
        /// The day table.
        table: String,
        /// Records moved, of all days.
        records: u64,
        /// Records to move.
        total: u64,
    },
}
