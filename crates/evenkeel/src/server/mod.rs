//! Servers and their data as command lines name them: where they are, what a private one is like, what rows it holds.

pub mod data;
mod identity;
pub mod place;

pub use identity::{identity, is_same};
