//! What private servers differ in besides their pools: how their data came in, and what their disk gives.

use crate::config::factor::{self, Factor};
use anyhow::Result;
use evenkeel_lab::data::Via;
use evenkeel_site::sandbox::DiskLimit;
use evenkeel_study::profile::PoolSize;
use std::collections::BTreeMap;

/// What a series is called: its levels, and its target where there are several or nothing else tells it.
pub fn label(
    pool: Option<PoolSize>,
    layout: Option<Via>,
    disk: &Disk,
    target: &str,
    targets: usize,
) -> String {
    let pool = pool.map(|pool| match pool {
        PoolSize::Percent(percent) => format!("pool {percent:.0} %"),
        PoolSize::Bytes(bytes) => format!("pool {} MiB", bytes >> 20),
    });
    let layout = layout.map(|via| format!("{via} layout"));
    let mut parts: Vec<String> = pool.into_iter().chain(layout).chain(disk.words()).collect();
    if targets > 1 || parts.is_empty() {
        parts.push(target.to_owned());
    }
    parts.join(", ")
}

/// One limit of the disk, with the levels of the factors that it stands for.
pub struct Disk {
    /// What the disk gives at most.
    pub limit: DiskLimit,
    pub levels: BTreeMap<String, String>,
}

impl Disk {
    pub fn words(&self) -> Option<String> {
        (!self.levels.is_empty()).then(|| match self.limit.is_none() {
            true => "disk without limit".to_owned(),
            false => format!("disk of {}", self.limit),
        })
    }
}

pub struct Factors {
    /// Sizes of the buffer pool; one `None` where that is no factor, as for the others.
    pub pools: Vec<Option<PoolSize>>,
    pub layouts: Vec<Option<Via>>,
    /// I/Os per second of the disk, and bytes; one outer `None` where that is no factor.
    iops: Vec<Option<Option<u64>>>,
    bytes_per_s: Vec<Option<Option<u64>>>,
}

impl Factors {
    /// Reads all texts of `--factor`.
    pub fn read(texts: &[String]) -> Result<Self> {
        let (mut pools, mut layouts) = (vec![None], vec![None]);
        let (mut iops, mut bytes_per_s) = (vec![None], vec![None]);
        for text in texts {
            match factor::parse(text)? {
                Factor::BufferPool(levels) => pools = levels.into_iter().map(Some).collect(),
                Factor::Layout(levels) => layouts = levels.into_iter().map(Some).collect(),
                Factor::DiskIops(levels) => iops = levels.into_iter().map(Some).collect(),
                Factor::DiskRate(levels) => bytes_per_s = levels.into_iter().map(Some).collect(),
            }
        }
        Ok(Self { pools, layouts, iops, bytes_per_s })
    }

    /// Limits of the disk; what is no factor is as otherwise.
    pub fn disks(&self, otherwise: DiskLimit) -> Vec<Disk> {
        let mut all = Vec::new();
        for iops in &self.iops {
            for bytes_per_s in &self.bytes_per_s {
                let limit = DiskLimit {
                    iops: iops.unwrap_or(otherwise.iops),
                    bytes_per_s: bytes_per_s.unwrap_or(otherwise.bytes_per_s),
                };
                let word = |level: Option<u64>| level.map_or("none".to_owned(), |level| level.to_string());
                let levels = [("disk-iops", iops), ("disk-rate", bytes_per_s)];
                let levels =
                    levels.into_iter().filter_map(|(name, level)| Some((name.to_owned(), word((*level)?))));
                all.push(Disk { limit, levels: levels.collect() });
            }
        }
        all
    }

    /// Smallest pool in percent of the tables.
    pub fn smallest_percent(&self) -> Option<f64> {
        let percents = self.pools.iter().filter_map(|pool| match pool {
            Some(PoolSize::Percent(percent)) => Some(*percent),
            _ => None,
        });
        percents.min_by(f64::total_cmp)
    }
}
