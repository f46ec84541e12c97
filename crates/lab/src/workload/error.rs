//! Why a workload cannot be used.

use thiserror::Error;

/// Why a workload cannot be used, and what would be right.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct WorkloadError(pub(super) String);
