//! The guard's gate as a plugin of the server: transactions wait in their own sessions, and nothing is relayed.
//!
//! Unsafe code stands at the boundary alone: in `installed`, `plugin`, `variables` and `server`, which the server calls and which call it, and in
//! `machine`. Where the gate fails, everything passes.

pub mod abi;
mod clock;
mod installed;
mod machine;
mod options;
mod plugin;
mod queue;
mod runaway;
mod server;
mod session;
mod sessions;
mod tally;
mod variables;
mod watcher;
