//! TPC-W: schema, value rules and rows.
//!
//! Every row is drawn from a seed of its own (the seed of the data set, the table, the row's number), so
//! the same seed, scale and date give the same rows on any number of threads and in any order.

mod rows;
mod scale;
pub mod values;

pub use rows::{CARD_TYPES, COUNTRIES, Generator, LINES_MAX, SHIP_TYPES, SUBJECTS};
pub use scale::{Scale, ScaleError, Table};
pub use values::{Date, DateError};

/// Version of the value rules; a data set of another version has other rows for the same seed.
pub const GENERATOR_VERSION: u32 = 1;
