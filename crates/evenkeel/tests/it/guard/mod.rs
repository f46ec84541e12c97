//! The guard against a real server.

mod client;
mod corpus;
mod faults;
mod logins;
mod passage;
mod proxy;
mod script;
mod server;
