//! What is measured of costs, and what came of it.

use crate::config::costs::{CostTables, text};
use crate::share::knee::client::Kind;
use anyhow::{Result, anyhow};
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_core::share::UNIT_BYTES;
use evenkeel_core::share::knee::costs::{Estimate, cost};

/// The read that costs 1.
pub const UNIT: Kind = Kind { bytes: UNIT_BYTES, write: false };

#[derive(Clone, Debug, PartialEq)]
pub struct CostsPlan {
    /// Sizes of reads; 16 KB is measured in any case.
    pub reads: Vec<u32>,
    /// Sizes of writes; they destroy what is there.
    pub writes: Vec<u32>,
    pub depth_most: u32,
    pub step: Nanos,
    pub rounds: u32,
    /// Standard error over the mean that is good enough.
    pub error: f64,
    /// Longest time for reads, and for writes.
    pub limit: Nanos,
    /// Least time for which is written before writes are measured.
    pub fill: Nanos,
    pub seed: Seed,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub kind: Kind,
    pub throughputs: Vec<f64>,
    /// Mean latency of the last round in seconds.
    pub latency_s: f64,
    /// I/Os that ended in the time that counts.
    pub ios: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// I/Os that were outstanding at a time.
    pub depth: u32,
    /// Reads and writes in rising sizes, the unit among them.
    pub kinds: Vec<Measured>,
    /// Throughput of reads still rose by this part at the depth taken.
    pub rise: f64,
    /// Writes did not come to rest while the cache was filled.
    pub filling: bool,
}

impl Found {
    /// Cost of a kind; `None` where nothing of it ended.
    pub fn cost(&self, place: usize) -> Option<Estimate> {
        let unit = self.kinds.iter().find(|measured| measured.kind == UNIT)?;
        match &self.kinds[place] {
            measured if measured.kind == UNIT => Some(Estimate { value: 1.0, error: 0.0 }),
            measured => cost(&unit.throughputs, &measured.throughputs),
        }
    }

    /// Tables of reads and of writes as flags and files take them, and the largest standard error among them.
    ///
    /// # Errors
    /// A kind of which nothing ended.
    pub fn tables(&self) -> Result<(CostTables, f64)> {
        let mut tables = CostTables { reads: Vec::new(), writes: Vec::new() };
        let mut error = 0.0_f64;
        for (place, measured) in self.kinds.iter().enumerate() {
            let name = || name(measured.kind);
            let cost = self.cost(place).ok_or_else(|| anyhow!("no {} ended in a step", name()))?;
            error = error.max(cost.error);
            let table = if measured.kind.write { &mut tables.writes } else { &mut tables.reads };
            table.push((measured.kind.bytes, rounded(cost.value)));
        }
        Ok((tables, error))
    }
}

/// `read of 16k`.
pub fn name(kind: Kind) -> String {
    let way = if kind.write { "write" } else { "read" };
    format!("{way} of {}", size(kind.bytes))
}

fn size(bytes: u32) -> String {
    let text = text(&[(bytes, 1.0)]);
    text.split('=').next().unwrap_or_default().to_owned()
}

fn rounded(value: f64) -> f64 {
    let digits = 2 - value.abs().max(1e-9).log10().floor() as i32;
    let factor = 10.0_f64.powi(digits);
    (value * factor).round() / factor
}
