//! What private servers differ in besides their pools: how their data came in, and into which files.

use crate::config::factor;
use crate::config::factor::{Factor, Layout};
use anyhow::Result;
use evenkeel_lab::data::Via;
use evenkeel_site::sandbox::{DiskLimit, SandboxSpec};
use evenkeel_study::profile::PoolSize;
use evenkeel_study::store::format::LayoutRecord;
use std::collections::BTreeMap;

/// The setting by which a table gets a file of its own.
const OWN_FILE: &str = "innodb_file_per_table";

/// One combination of the levels of layout and tablespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The level of the layout, where it is a factor.
    pub level: Option<Layout>,
    /// How the rows came in, at first where they were copied afterwards.
    pub via: Via,
    /// Whether tables share a file, where that is a factor.
    pub shared: Option<bool>,
}

impl Variant {
    /// All combinations; a copy stands behind what it is a copy of. `otherwise` is the way in where that is no factor.
    pub fn all(factors: &Factors, otherwise: Via) -> Vec<Self> {
        let mut all = Vec::new();
        for shared in &factors.shared {
            let mut via = otherwise;
            for level in &factors.layouts {
                if let Some(Layout::Via(wanted)) = level {
                    via = *wanted;
                }
                all.push(Self { level: *level, via, shared: *shared });
            }
        }
        all
    }

    /// Whether its data are copied from the server of this way in.
    pub fn is_copy(self) -> bool {
        self.level == Some(Layout::Copy)
    }

    pub fn original(self) -> Self {
        Self { level: Some(Layout::Via(self.via)), ..self }
    }

    pub fn name(self) -> String {
        let copy = if self.is_copy() { "-copy" } else { "" };
        let files = match self.shared {
            Some(true) => "-shared",
            Some(false) => "-own",
            None => "",
        };
        format!("{}{copy}{files}", self.via)
    }

    pub fn words(self) -> Vec<String> {
        let level = self.level.map(|level| match level {
            Layout::Via(via) => format!("{via} layout"),
            Layout::Copy => format!("copy of {} layout", self.via),
        });
        let files = self.shared.map(|shared| if shared { "shared tablespace" } else { "own tablespaces" });
        level.into_iter().chain(files.map(str::to_owned)).collect()
    }

    pub fn record(self) -> LayoutRecord {
        match self.via {
            _ if self.is_copy() => LayoutRecord::Copy,
            Via::Insert => LayoutRecord::Insert,
            Via::Script => LayoutRecord::Script,
            Via::Shuffled => LayoutRecord::Shuffled,
            Via::Load => LayoutRecord::Load,
            Via::Dump => LayoutRecord::Dump,
        }
    }

    /// Levels of the factors that a plan has no field for.
    pub fn levels(self) -> BTreeMap<String, String> {
        let level = |shared| ("tablespace".to_owned(), if shared { "shared" } else { "own" }.to_owned());
        self.shared.map(level).into_iter().collect()
    }

    /// Sets what its server has otherwise.
    pub fn apply(self, sandbox: &mut SandboxSpec) {
        if let Some(shared) = self.shared {
            sandbox.settings.insert(OWN_FILE.to_owned(), if shared { "OFF" } else { "ON" }.to_owned());
        }
    }
}

/// What a series is called: its levels, and its target where there are several or nothing else tells it.
pub fn label(pool: Option<PoolSize>, variant: Variant, disk: &Disk, target: &str, targets: usize) -> String {
    let pool = pool.map(|pool| match pool {
        PoolSize::Percent(percent) => format!("pool {percent:.0} %"),
        PoolSize::Bytes(bytes) => format!("pool {} MiB", bytes >> 20),
    });
    let mut parts: Vec<String> = pool.into_iter().chain(variant.words()).chain(disk.words()).collect();
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
                Factor::DiskRate(levels) => bytes_per_s = levels.into_iter().map(Some).collect(),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn variants(texts: &[&str]) -> Vec<Variant> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        Variant::all(&Factors::read(&texts).unwrap(), Via::Load)
    }

    #[test]
    fn a_copy_has_the_rows_of_the_level_before_it_and_a_name_of_its_own() {
        let names = |texts: &[&str]| variants(texts).into_iter().map(Variant::name).collect::<Vec<_>>();
        assert_eq!(names(&[]), ["load"]);
        assert_eq!(names(&["layout=dump,copy,shuffled"]), ["dump", "dump-copy", "shuffled"]);
        assert_eq!(
            names(&["layout=script,copy", "tablespace=shared,own"]),
            ["script-shared", "script-copy-shared", "script-own", "script-copy-own"]
        );
    }
}
