//! DVD Store 2: schema, value rules and rows.
//!
//! Written from the published rules, with values of our own where only their length counts (words of titles,
//! names of actors). Every row is drawn from a seed of its own (the seed of the data set, the table, the row's
//! number), so the same seed, size and date give the same rows on any number of threads and in any order.
//! Orders lie in the twelve months before the month of the date.

mod rows;
mod size;
pub mod words;

pub use rows::{
    Generator, LINES_MAX, PASSWORD, POPULAR_EVERY, QUANTITY_MAX, customer_fields, tax_cents, user_name,
};
pub use size::{Size, SizeError, Table};

/// Name of the data set, of its database where nobody names one, and of the workload.
pub const NAME: &str = "dvdstore";

/// Version of the value rules; a data set of another version has other rows for the same seed.
pub const GENERATOR_VERSION: u32 = 1;

/// Names of the categories; a category's number is its place, from 1.
#[rustfmt::skip]
pub const CATEGORIES: [&str; 16] = [
    "Action", "Animation", "Children", "Classics", "Comedy", "Documentary", "Drama", "Family", "Foreign",
    "Games", "Horror", "Music", "New", "Sci-Fi", "Sports", "Travel",
];
