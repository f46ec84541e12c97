//! The guard against a real server.

mod client;
mod corpus;
mod demo;
mod faults;
mod locks;
mod logins;
mod operation;
mod passage;
mod proxy;
mod script;
mod server;
