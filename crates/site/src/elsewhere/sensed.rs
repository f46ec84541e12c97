//! The files of a study say by whom the server was seen.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SensedRecord {
    pub by: SensedBy,
    /// The command, or the address of the page; absent where it is neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<String>,
    /// Name of the machine that it tells of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Readings of the run.
    #[serde(default)]
    pub readings: u32,
    /// Time from one of them to the next, by the middle one, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_ms: Option<f64>,
    /// The step in which CPU time is counted, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution_ms: Option<f64>,
    /// By how much a reading may stand at the wrong place in time, ms; absent where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_error_ms: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

words! {
    #[derive(Default)]
    SensedBy {
        /// The machine that Evenkeel runs on, because the server does too.
        ThisMachine = "this machine",
        /// A command that speaks as `evenkeel sense` does.
        Command = "command",
        NodeExporter = "node_exporter",
        Statistics = "server statistics",
        /// None: the figures are not available.
        #[default]
        Nobody = "nobody",
    }
}
