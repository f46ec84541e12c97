//! A tiny HTTP server for metrics, everything bounded.

mod client;
mod page;
mod server;
#[cfg(test)]
pub mod tests;

#[cfg(test)]
use client::get;
pub use client::get_json;
pub use page::Page;
pub use server::Server;
