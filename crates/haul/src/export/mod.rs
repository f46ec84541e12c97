//! Tables as delimited files, all as of one instant, over several connections.
//!
//! [`Export`] opens its connections so that all see the same instant ([`instant`]), parts each table by its primary key ([`ranges`]),
//! and writes lines as `LOAD DATA` reads them ([`line`]). Files have hidden names until all of a table is on disk; beside them is
//! a [`Manifest`] with the instant, rows, bytes and a checksum that does not look at the order of the rows. By it [`verify`] tells whether
//! files are what was exported, and [`compare`] whether a table still is. A rerun leaves tables alone whose files are whole.

mod check;
mod error;
mod instant;
mod job;
mod line;
mod manifest;
mod progress;
mod ranges;
mod worker;
mod writer;

pub use check::{Fault, compare, verify};
pub use error::ExportError;
pub use instant::{How, Instant};
pub use job::Export;
pub use manifest::{Exported, Manifest, manifests};
pub use progress::Progress;
