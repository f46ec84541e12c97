//! Servers and their data as command lines name them: where they are, what a private one is like, what rows it holds.

pub mod data;
pub mod place;
