//! Recovery is done for real on private servers, and what it gives is compared.
//!
//! [`Recover`] is the whole chain; [`binlog`] reads where transactions begin and end, [`Manifest`] is what a backup was when it was taken.

mod backup;
pub mod binlog;
mod changes;
mod dump;
mod from;
mod manifest;
mod method;
mod program;
mod recover;
mod restored;
mod rows;
mod snapshot;

pub use from::{Found, From};
pub use manifest::Manifest;
pub use method::Method;
pub use recover::{Recover, Report, Responses, Taken};
pub(crate) use restored::quiet;
pub use restored::{Tell, Timed};
