//! All doubts of a study, by cause: how many runs each touches, its worst evidence, and what to do.

mod found;
mod group;
mod text;

pub use found::{Found, cell_name, gather, numbers};
pub use group::{Doubt, doubts};
