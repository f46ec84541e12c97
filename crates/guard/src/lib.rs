//! Holds transactions back; it never loses, reorders or alters what passes.
#![forbid(unsafe_code)]

pub mod capture;
pub mod control;
pub mod event;
pub mod proxy;
pub mod snapshot;
