//! What goes on, while it goes on.
//!
//! The caller turns what the lab reports into [`ProgressEvent`]s and hands each to [`View::show`], about
//! once a second while a run is measured. The view has no clock and no thread of its own, so it takes
//! nothing from the machine between events. All goes to stderr: stdout is for results.

mod events;
mod line;
mod view;

pub use events::ProgressEvents;
pub use view::{Mode, View};

use evenkeel_study::store::format::WrittenFile;
use serde::Serialize;

/// Something worth showing. As JSON: one object a line, `event` names the variant in kebab-case; an
/// absent value is `null`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum ProgressEvent {
    /// Something begins that has no measure: a server starts, plans are read.
    Step { text: String },
    /// Data is being written; rows are those of all tables.
    Populating { table: String, rows: u64, rows_total: u64, rows_per_s: f64, left_s: Option<f64> },
    /// All data is written.
    Populated { rows: u64, took_s: f64 },
    /// A short run of the search for the saturation ended.
    Probed {
        series: String,
        /// Absent for a closed probe.
        rate_per_s: Option<f64>,
        throughput_per_s: f64,
        theta_percent: Option<f64>,
        settled: bool,
    },
    /// All rates are known; the runs begin.
    Planned {
        folder: String,
        cells: usize,
        runs: u32,
        /// Runs finished before.
        done: u32,
        left_s: Option<f64>,
    },
    /// A run is measured now; shown again and again.
    Running {
        run: RunName,
        /// `warm-up`, `measure` or `drain`.
        phase: String,
        tau_ms: Option<f64>,
        theta_percent: Option<f64>,
        /// Time left for the whole study.
        left_s: Option<f64>,
    },
    /// A run ended.
    RunFinished {
        run: RunName,
        /// None where nothing was answered.
        tau_ms: Option<f64>,
        p95_ms: Option<f64>,
        /// Whether these are lower bounds.
        lower_bound: bool,
        throughput_per_s: f64,
        theta_percent: Option<f64>,
        /// `settled`, `unstable` or `too-short`.
        stability: String,
        /// Codes of the run's caveats that are doubts or worse.
        caveats: Vec<String>,
    },
    /// A run was disturbed from outside; it is measured once more.
    MeasuredAgain {
        /// With the attempt that begins.
        run: RunName,
        steal_percent: Option<f64>,
        other_load_percent: Option<f64>,
    },
    /// A sweep ended where the server carries no more.
    SweepEnded { series: String, reason: String, not_measured_per_s: Vec<f64> },
    /// Records are converted.
    Converting {
        step: String,
        /// Bytes that this step has read.
        bytes: u64,
        /// None of a pipe.
        bytes_total: Option<u64>,
        records: u64,
        rejects: u64,
        bytes_per_s: f64,
        left_s: Option<f64>,
    },
    /// What is about to happen to a server that others use: statements, connections and rates, on one line.
    Announced { text: String },
    /// Something that the user should know now, as a sentence.
    Warning { text: String },
    /// All is done, or it was stopped.
    Finished {
        runs: u32,
        complete: bool,
        /// Why a study whose runs are chosen one by one has ended.
        ended: Option<String>,
        /// What was written to servers that others use.
        #[serde(skip_serializing_if = "Option::is_none")]
        written: Option<WrittenFile>,
    },
}

/// Which run of a study.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunName {
    /// Place among all runs, from 1.
    pub number: u32,
    /// Runs planned, as far as known.
    pub total: u32,
    /// Label of the series; the workload where there is only one.
    pub series: String,
    pub rate_per_s: f64,
    /// From 1, as the attempt.
    pub repeat: u32,
    pub attempt: u32,
}
