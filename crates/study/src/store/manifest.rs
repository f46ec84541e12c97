//! What stands in `manifest.json`.

use evenkeel_lab::workload::Class;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `manifest.json`: where it was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ManifestFile {
    /// Version of the file, [`FORMAT`](super::format::FORMAT).
    pub format: u32,
    /// What the machine of the generator says of itself: `cpu`, `kernel`, `memory` and the like.
    pub machine: BTreeMap<String, String>,
    /// Servers, in the order of the plan's targets.
    pub servers: Vec<ServerRecord>,
    pub plans: Vec<StatementPlanRecord>,
    /// What whoever sees a server from elsewhere says of its machine, in words, by label of the target.
    pub sensed: BTreeMap<String, BTreeMap<String, String>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerRecord {
    pub version: String,
    pub variables: BTreeMap<String, String>,
    /// The data set's stamp, in words, by key.
    pub data: BTreeMap<String, String>,
    /// Bytes of the workload's tables and indexes.
    pub tables_bytes: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatementPlanRecord {
    pub statement: String,
    /// Whether it is simple, complex or a write.
    pub class: Class,
    pub reason: String,
    pub sql: String,
    /// The server's EXPLAIN, as text.
    pub plan: String,
    /// Share of the total work, percent, where it was measured.
    pub work_share_percent: Option<f64>,
    /// Why a read was not made and measured; absent where it was, of writes.
    pub not_made: Option<String>,
    /// A CREATE INDEX statement that would spare it a full scan; nobody has tried it.
    pub proposal: Option<String>,
    /// Share of the rows that all statements read, percent.
    pub rows_share_percent: Option<f64>,
}
