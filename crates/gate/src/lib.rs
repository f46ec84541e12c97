//! The gate: holds work back; it never loses, reorders or alters what passes.
#![deny(unsafe_code)]

mod address;
pub mod admission;
pub mod board;
pub mod clock;
pub mod control;
pub mod event;
pub mod guard;
pub mod histogram;
#[cfg(test)]
#[path = "../../../tests/left_out.rs"]
mod left_out;
mod numbers;
pub mod policy;
pub mod share;
pub mod snapshot;
mod sys;
