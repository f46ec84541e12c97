//! Holds transactions back; it never loses, reorders or alters what passes.
#![forbid(unsafe_code)]

pub mod admission;
pub mod control;
pub mod event;
mod numbers;
pub mod policy;
pub mod proxy;
pub mod snapshot;
