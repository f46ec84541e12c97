//! Tables for the terminal.
//!
//! `grid` lays columns out and drops the least important ones where the terminal is narrow; `paint` wraps
//! and colours; `profile` and `runs` say what stands in them. Nothing is printed here.

mod grid;
mod profile;
pub mod replay;
mod runs;

pub use grid::{GridColumn, INKS, Ink, Place, lines, paint, wrap};
pub use profile::{HEAVY_PERCENT, by_share, plans, profile, refused};
pub use runs::{Damage, ListedPublished, ListedStudy, damage, runs};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    pub width: usize,
    /// Whether colour is wanted: the caller looks at `NO_COLOR` and at whether it is a terminal.
    pub colour: bool,
}
