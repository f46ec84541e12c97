//! The guard's gate as a plugin of the server: transactions wait in their own sessions, and nothing is relayed.
//!
//! Unsafe code stands at the boundary alone: here, in [`abi`] and in [`server`]. Where the gate fails, everything passes.

pub mod abi;
mod clock;
mod hall;
mod look;
mod options;
mod plugin;
mod server;
mod session;
mod tally;
mod variables;
