//! The site is a server, yours or private, and the machine that it runs on. Nothing is left behind on it.
//!
//! `server` is how to reach one and what it can bear, `sandbox` a private one, `copy` a copy of the data directory of one that is
//! stopped, `elsewhere` sees one on another machine, `relayout` builds its tables anew.
#![forbid(unsafe_code)]

#[macro_use]
mod words;
pub mod copy;
pub mod elsewhere;
pub mod relayout;
pub mod sandbox;
pub mod server;
mod survivor;
