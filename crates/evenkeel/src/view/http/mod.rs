//! A tiny HTTP server for metrics: one thread that waits for no client, everything bounded.

mod bounds;
mod client;
mod connection;
mod page;
mod serve;
mod server;
#[cfg(test)]
pub mod tests;

pub use client::get;
pub use page::{Answer, Page};
pub use server::Server;
