//! The gate: holds work back; it never loses, reorders or alters what passes.
#![deny(unsafe_code)]

pub mod clock;
