//! What an operator sees of the guard: metrics, logs, the journal, the live view; and a guard as a child.

pub mod child;
pub mod journal;
pub mod log;
pub mod metrics;
pub mod show;
pub mod top;
pub mod watch;

#[cfg(test)]
pub mod fixture;
