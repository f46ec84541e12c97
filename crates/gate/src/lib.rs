//! The gate: holds work back; it never loses, reorders or alters what passes.
#![deny(unsafe_code)]

pub mod admission;
pub mod clock;
pub mod guard;
pub mod histogram;
pub mod policy;
