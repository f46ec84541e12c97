//! Why a workload cannot be used.

use thiserror::Error;

pub type Result<T, E = WorkloadError> = std::result::Result<T, E>;

/// Why a workload cannot be used, and what would be right.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct WorkloadError(pub(super) String);
