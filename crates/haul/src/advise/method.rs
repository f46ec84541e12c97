//! A way of loading, and what was measured of it.

use super::verdict::Spread;
use crate::table::Engine;
use std::fmt;

/// A way of loading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Method {
    /// Where rows are stored.
    pub engine: Engine,
    /// Whether further indexes are made once the rows are in.
    pub indexes_after: bool,
    /// Connections that send rows.
    pub connections: usize,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { engine, indexes_after, connections } = self;
        let order = if *indexes_after { "after" } else { "before" };
        write!(
            f,
            "{}, indexes {order}, {connections} connection{}",
            engine.name(),
            if *connections == 1 { "" } else { "s" }
        )
    }
}

/// One way, measured.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Measured {
    /// The way of loading that was tried.
    pub way: Method,
    /// Seconds of a load.
    pub seconds: Spread,
    /// Bytes of the table with its indexes, per row.
    pub bytes_per_row: f64,
    /// Whether it cannot be told from the fastest: their spreads overlap.
    pub like_fastest: bool,
}
