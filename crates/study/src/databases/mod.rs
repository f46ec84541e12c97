//! Two databases on shared storage: table 7 of the published evaluation of shared windows, made again.
//!
//! Two hosts with a database each, DVD stores that closed clients order from as fast as they are answered. Their data are on
//! one array, whose windows a law sets by shares of 1 and 4; their redo logs are on another one that nothing bounds.
//!
//! `study` is what the harness makes: `images` fills a store once; for each run `pair` puts two hosts up on copies of it, `contend` orders
//! from both while `watch` asks the hosts, and all comes down again. What a run is (`record`), which runs there are and what of them is
//! kept (`parts`, `figures`), and what they come to (`judge`) is pure.

mod contend;
mod figures;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
mod images;
mod judge;
pub mod needs;
mod pair;
mod parts;
pub mod record;
mod study;
mod watch;

pub use figures::FIGURES;
pub use judge::judge;
pub use parts::{most, parts};
pub use study::Databases;

/// The study's name in plans and on the command line.
pub const NAME: &str = "databases";

pub const QUESTION: &str =
    "do two databases on shared storage get the shares of orders that they were given?";

pub const NAMES: [&str; 2] = ["a", "b"];
/// Shares of the hosts, in the order of [`NAMES`].
pub const SHARES: [f64; 2] = [1.0, 4.0];
/// Latency threshold in seconds.
pub const THRESHOLD_S: f64 = 0.015;
/// The most window of the published runs.
pub const PUBLISHED_MOST: u32 = 32;

/// What was published of a way: of each host orders per minute and the mean response time of an order in milliseconds, and
/// of the storage, where it was told, I/Os per second and latency in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// Of each host.
    pub orders: [(f64, f64); 2],
    /// Of each host.
    pub storage: Option<[(f64, f64); 2]>,
}

/// What was published of a run without control.
pub const UNCONTROLLED: Published =
    Published { orders: [(8_799.0, 213.0), (8_484.0, 221.0)], storage: Some([(615.0, 20.4), (588.0, 20.5)]) };
/// By the published law.
pub const PARDA: Published = Published { orders: [(6_952.0, 273.0), (12_356.0, 151.0)], storage: None };

impl Published {
    /// Orders of host b over those of host a.
    pub fn ratio(&self) -> f64 {
        self.orders[1].0 / self.orders[0].0
    }
}

/// What a host has of its shares where it fills only a part of its window: with one disk, `shares * min(wanted / window, 1)`.
/// The published law adds this to the window, times a K of 1; where it sets the window the host tells its own figure.
pub fn beta(shares: f64, wanted: f64, window: f64) -> f64 {
    if window > 0.0 { shares * (wanted / window).min(1.0) } else { shares }
}
