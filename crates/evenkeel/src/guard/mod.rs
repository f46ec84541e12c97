//! What an operator sees of the guard: metrics, logs, the journal, the live view.

pub mod http;
pub mod journal;
pub mod log;
pub mod metrics;
pub mod status;
pub mod top;
pub mod watch;

#[cfg(test)]
pub mod fixture;
