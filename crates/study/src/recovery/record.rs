//! What the study needs to know beside parts and repeats, as it stands in its plan.

use crate::harness::{Factor, Part};
use crate::published::MachineRecord;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// Writes per second of the ledger.
    pub rate: f64,
    /// Data before the load begins, MiB.
    pub megabytes: u64,
    /// Where all this ran.
    pub place: MachineRecord,
}

/// Names of the parts, in their order.
pub const RECOVERY: &str = "recovery";
pub const FAILOVER: &str = "failover";
pub const REACH: &str = "reach";

const METHODS: [(&str, &str); 4] = [
    ("full", "mariadb-backup, full"),
    ("incremental", "mariadb-backup, full and incremental"),
    ("snapshot", "snapshot of the volume (XFS)"),
    ("dump", "mariadb-dump"),
];
const FAULTS: [(&str, &str); 7] = [
    ("stop", "clean shutdown"),
    ("kill", "kill -9"),
    ("freeze", "process stopped"),
    ("cut", "network cut"),
    ("full", "disk full"),
    ("lag", "replica receives nothing for 1 s, then kill -9"),
    ("slow", "replica applies nothing for 1 s, then kill -9"),
];
const WAYS: [(&str, &str); 3] = [
    ("address", "an address that moves"),
    ("haproxy", "HAProxy with both servers"),
    ("guard", "evenkeel guard, whose backend changes"),
];
const MODES: [(&str, &str); 3] =
    [("async", "asynchronous"), ("after-sync", "AFTER_SYNC"), ("after-commit", "AFTER_COMMIT")];

/// All of them; each combination is measured so often. A quick look has the faults of the published study and a lagging replica, and
/// needs no root and no other proxy.
pub fn parts(setting: &Setting, repeats: u32, is_quick: bool) -> Vec<Part> {
    let taken =
        |of: &[(&'static str, &'static str)], left_out: &[&str]| -> Vec<(&'static str, &'static str)> {
            of.iter().copied().filter(|(name, _)| !(is_quick && left_out.contains(name))).collect()
        };
    let recovery = format!(
        "{} MiB and {} writes a second beside other changes; backup, kill -9, restore, binary logs, every row compared.",
        setting.megabytes, setting.rate
    );
    let failover = format!(
        "A primary and a replica (GTID), 8 writers with {} writes a second and a list of both hosts; detection by three failed \
         writes, promotion after the relay logs are applied.",
        setting.rate
    );
    vec![
        Part::new(
            RECOVERY,
            "backup, restore and point of failure",
            recovery,
            vec![Factor::named("method", taken(&METHODS, &["snapshot"]))],
            repeats,
        ),
        Part::new(
            FAILOVER,
            "failover by a list of hosts",
            failover,
            vec![
                Factor::named("fault", taken(&FAULTS, &["freeze", "cut", "full", "slow"])),
                Factor::named("mode", taken(&MODES, &["after-commit"])),
            ],
            repeats,
        ),
        Part::new(
            REACH,
            "failover by an address and by proxies",
            "The same with an asynchronous replica and writers that know one address only.".to_owned(),
            vec![
                Factor::named("reach", taken(&WAYS, &["address", "haproxy"])),
                Factor::named("fault", taken(&FAULTS, &["kill", "freeze", "cut", "full", "lag", "slow"])),
            ],
            repeats,
        ),
    ]
}
