//! Recovery is done for real on private servers, and what it gives is compared.
//!
//! [`Recover`] is the whole chain; [`binlog`] reads where transactions begin and end, [`Manifest`] is what a backup was when it was taken.

mod backup;
pub mod binlog;
mod changes;
mod check;
mod dump;
mod from;
mod manifest;
mod method;
mod original;
mod program;
mod range;
mod recover;
mod restored;
mod rows;
mod snapshot;

pub use check::{Risk, check};
pub use from::{Found, OwnBackup};
pub use manifest::Manifest;
pub use method::Method;
pub(crate) use program::{Login, PATIENCE, failed, installed, shell, wait};
pub use range::Until;
pub use recover::{BackupReport, Recover, Report, Responses};
pub(crate) use restored::{Servers, quiet};
pub use restored::{Tell, Timed, sweep};
pub use snapshot::SnapshotCommands;
