//! What an operator sees of a host that shares storage: metrics, logs, the live view; and a host as a child.

pub mod host;
pub mod log;
pub mod metrics;
pub mod serve;
pub mod status;
pub mod top;

#[cfg(test)]
pub mod fixture;
