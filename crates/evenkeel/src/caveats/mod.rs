//! All doubts of a study, by cause: how many runs each touches, its worst evidence, and what to do.

mod causes;
mod found;
mod group;

pub use found::{Found, Severity, cell_name, gather};
pub use group::{Doubt, doubts};
