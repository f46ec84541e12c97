//! What private servers differ in besides their pools: how their data came in, and into which files.

use super::factors::{Disk, Factors};
use crate::config::factor::Layout;
use evenkeel_lab::data::Via;
use evenkeel_site::sandbox::SandboxSpec;
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
