//! The guard against a real server.

mod captured;
pub mod client;
mod demo;
mod effect;
mod faults;
mod hogs;
mod identity;
mod kills;
mod leaving;
pub mod ledger;
mod locks;
mod logins;
mod operation;
pub mod proxy;
mod replication;
mod review;
mod script;
pub mod server;
mod told;
