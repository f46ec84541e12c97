//! What published studies share beside the harness: why they cannot go on.

mod error;

pub(crate) use error::While;
pub use error::{AnyError, PublishedError, Result};
