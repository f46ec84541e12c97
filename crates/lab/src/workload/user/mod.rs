//! The user's own workloads.
