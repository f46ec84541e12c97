//! What an operator sees of the guard: metrics, logs, the journal, the live view; and a guard as a child.

#[allow(dead_code, reason = "its first users, the demo and a study, come next")]
pub mod child;
pub mod http;
pub mod journal;
pub mod log;
pub mod metrics;
pub mod status;
pub mod top;
pub mod watch;

#[cfg(test)]
pub mod fixture;
