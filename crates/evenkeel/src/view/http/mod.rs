//! A tiny HTTP server for metrics: one thread that waits for no client, everything bounded.

mod bounds;
mod client;
mod connection;
mod page;
mod serve;
mod server;
#[cfg(test)]
pub mod tests;

#[cfg(test)]
use client::get;
pub use client::get_json;
pub use page::Page;
pub use server::Server;
