//! The files of a study say by whom the server was seen.

use serde::{Deserialize, Serialize};

/// Where the CPU figures of a run come from, and how fine they are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SensedRecord {
    /// Who told the figures.
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
    /// Why there are no figures, or none from some moment on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

words! {
    /// Where the CPU figures of a run come from.
    #[derive(Default)]
    SensedBy {
        /// The machine that Evenkeel runs on, because the server does too.
        ThisMachine = "this machine",
        /// A command that speaks as `evenkeel sense` does.
        Command = "command",
        /// The page of node_exporter.
        NodeExporter = "node_exporter",
        /// What the server counts itself.
        Statistics = "server statistics",
        /// None: the figures are not available.
        #[default]
        Nobody = "nobody",
    }
}
