//! The guard against a real server.

pub mod client;
mod demo;
mod effect;
pub mod faults;
mod identity;
mod inside;
mod lanes;
mod locks;
mod logins;
mod operation;
mod restart;
mod review;
mod script;
pub mod server;
