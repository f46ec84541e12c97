//! The plugin in real servers of its own.

mod holds;
mod parting;
mod server;
mod servers;
mod waits;
