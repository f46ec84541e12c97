//! Two databases on shared storage: table 7 of the published evaluation of shared windows, made again.
//!
//! Two hosts with a database each, DVD stores that closed clients order from as fast as they are answered. Their data are on
//! one array, whose windows a law sets by shares of 1 and 4; their redo logs are on another one that nothing bounds.
//!
//! `study` is what the harness makes: `images` fills a store once; for each run `pair` puts two hosts up on copies of it, `contend` orders
//! from both while `watch` asks the hosts, and all comes down again. What a run is (`record`), which runs there are and what of them is
//! kept (`parts`, `figures`), and what they come to (`judge`) is pure.

mod contend;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
mod judge;
pub mod needs;
mod pair;
mod parts;
pub mod record;
mod study;

pub use judge::judge;
pub use parts::{most, parts};
pub use study::{Databases, FIGURES};

/// The study's name in plans and on the command line.
pub const NAME: &str = "databases";

pub const QUESTION: &str =
    "do two databases on shared storage get the shares of orders that they were given?";

pub const NAMES: [&str; 2] = ["a", "b"];
/// Shares of the hosts, in the order of [`NAMES`].
pub const SHARES: [f64; 2] = [1.0, 4.0];
/// Latency threshold in seconds.
pub const THRESHOLD_S: f64 = 0.015;
