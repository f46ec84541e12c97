//! The guard's protocol against a real server.

mod client;
mod corpus;
mod script;
mod server;
