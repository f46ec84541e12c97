//! Tables as delimited files, all from one snapshot.
//!
//! [`Export`] opens connections that share a snapshot ([`snapshot`]); each takes one table after the other and writes lines as `LOAD DATA`
//! reads them ([`line`]). All goes into a hidden folder, which gets its name once every table is on disk. [`Manifest`] has rows, bytes and
//! checksums, which do not depend on the order of the rows. By it [`verify`] checks the files and [`compare`] the tables. [`Import`] loads
//! a table again.

mod check;
mod job;
mod line;

pub(crate) use check::connect;
pub use check::{Fault, Import, Imported, compare, rows, verify};
pub use job::Export;
pub use line::{Exported, ExportedFile, Manifest};
