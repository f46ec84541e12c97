//! What changes between series of a profile besides the rate.

use crate::config::factor::{self, Factor, Layout};
use anyhow::Result;
use evenkeel_site::sandbox::DiskLimit;
use evenkeel_study::profile::PoolSize;
use std::collections::BTreeMap;

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
    pub layouts: Vec<Option<Layout>>,
    /// Whether tables share a file.
    pub shared: Vec<Option<bool>>,
    /// I/Os per second of the disk, and bytes; one outer `None` where that is no factor.
    iops: Vec<Option<Option<u64>>>,
    bytes_per_s: Vec<Option<Option<u64>>>,
}

impl Factors {
    /// Reads all texts of `--factor`.
    pub fn read(texts: &[String]) -> Result<Self> {
        let (mut pools, mut layouts, mut shared) = (vec![None], vec![None], vec![None]);
        let (mut iops, mut bytes_per_s) = (vec![None], vec![None]);
        for text in texts {
            match factor::parse(text)? {
                Factor::BufferPool(levels) => pools = levels.into_iter().map(Some).collect(),
                Factor::Layout(levels) => layouts = levels.into_iter().map(Some).collect(),
                Factor::Shared(levels) => shared = levels.into_iter().map(Some).collect(),
                Factor::DiskIops(levels) => iops = levels.into_iter().map(Some).collect(),
                Factor::DiskBandwidth(levels) => bytes_per_s = levels.into_iter().map(Some).collect(),
            }
        }
        Ok(Self { pools, layouts, shared, iops, bytes_per_s })
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
                let levels = [("disk-iops", iops), ("disk-bandwidth", bytes_per_s)];
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
