//! Holds files of records against tables: each record is stored once or refused once, or it is named.
//!
//! Both sides are read in the same form ([`canon`]): what a server returns differs from what a file says by zeroes and blanks that
//! mean nothing. Records go into [`sums::BUCKETS`] buckets by their keys, and of each bucket there is a count and a sum of hashes, on
//! either side. Sums do not look at the order, and see what comes twice, which an exclusive or would not. Where a bucket differs,
//! its records are written down on disk, sorted by key and judged one by one ([`judge`]), and what is found gets its name from a last reading ([`detail`]). Memory
//! does not grow with the files: a clean audit reads them once, and finds in the same reading what comes twice; one that follows a load has the sums of the
//! files from it ([`early`]).

mod after;
mod detail;
mod early;
mod form;
mod judge;
mod records;
mod refused;
mod run;
mod sums;
mod tables;

pub use after::{AfterLoad, Changed, Discrepancy, Kind, Report};
pub(crate) use detail::prepare;
pub(crate) use early::{Early, Hashing};
pub(crate) use records::{Noted, Noting, Records};
pub(crate) use refused::{Line as RejectLine, is_repeat, parse as reject_line};
pub use run::Audit;
pub(crate) use tables::{named, no_table};
