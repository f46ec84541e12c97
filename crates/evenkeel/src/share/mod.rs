//! What an operator sees of a host that shares storage: metrics, logs, the live view; a host as a child; and its storage measured.

pub mod host;
pub mod knee;
pub mod metrics;
pub mod serve;
pub mod status;
pub mod top;

#[cfg(test)]
pub mod fixture;
