//! Tests of the lab against real servers.
#![allow(clippy::unwrap_used)]

mod explain;
mod server;
mod shop;
mod workload;
