//! The plugin in real servers of its own.

mod holds;
mod parting;
mod rules;
mod server;
mod servers;
mod waits;
