//! What a relay between a client and a server has to know of what it passes on.
//!
//! The relay forwards bytes as they are; these readers only tell it where things begin and end. [`hello`]
//! is for the login, [`CommandReader`] for what a client sends afterwards, [`ReplyReader`] for what comes
//! back. Both keep a few bytes of state for each connection and never a payload: a command is shown where it
//! lies in the caller's input, a reply is counted and skipped.
//!
//! Bytes that are not the protocol give an error; the connection is then of no more use.

mod command;
mod frame;
pub mod hello;
mod proxy;
mod query;
mod reply;

pub use command::{Command, CommandKind, CommandReader, Expect, HEAD_MAX, Step};
pub use proxy::put_proxy_header;
pub use query::{Dialect, sql};
pub use reply::{PENDING_MAX, Reply, ReplyReader};
