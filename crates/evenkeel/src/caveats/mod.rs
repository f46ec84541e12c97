//! All doubts of a study, by cause: how many runs each touches, its worst evidence, and what to do.

mod group;
mod text;

pub use group::{Doubt, cell_name, doubts};
