//! Tables as delimited files, all as of one instant, over several connections.
//!
//! [`Export`] opens its connections so that all see the same instant ([`instant`]), parts each table by its primary key ([`ranges`]),
//! and writes lines as `LOAD DATA` reads them ([`line`]). Files have hidden names until all of a table is on disk; beside them is
//! a [`Manifest`] with the instant, rows, bytes and a checksum that does not look at the order of the rows. By it [`verify`] tells whether
//! files are what was exported, and [`compare`] whether a table still is. A rerun leaves tables alone whose files are whole. [`Import`] loads
//! the files into a table again.

mod check;
mod checked;
mod error;
mod import;
mod instant;
mod job;
mod line;
mod manifest;
mod origin;
mod progress;
mod ranges;
mod worker;
mod writer;

pub use check::{Fault, compare, verify};
pub use error::ExportError;
pub use import::{Import, Imported};
pub use instant::{How, Instant};
pub use job::Export;
pub use manifest::{Exported, Manifest, manifests};
pub use origin::Origin;
pub use progress::Progress;
pub use ranges::KeyRange;
