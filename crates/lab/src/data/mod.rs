//! Data sets: their rows, the ways into a server, and the stamp that says what is there.
//!
//! [`populate`] fills a database by one of three ways ([`Via`]), which differ in the storage layout that
//! they leave; [`check`] says what a database holds; [`reload`] repairs a layout by dump and reload.

mod check;
mod dump;
mod error;
mod insert;
mod load;
mod parallel;
mod populate;
mod progress;
mod reload;
mod session;
mod size;
mod snapshot;
mod spec;
mod stamp;
mod swap;
pub mod tpcw;

pub use check::{Found, check, remove, verify};
pub use error::DataError;
pub use populate::{populate, repopulate};
pub use progress::{DataProgress, Phase};
pub use reload::reload;
pub use size::tables_size;
pub use snapshot::Snapshot;
pub use spec::{DataSpec, Via, ViaError};
pub use stamp::{Stamp, State};
