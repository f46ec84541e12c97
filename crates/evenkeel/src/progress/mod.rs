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
    Step {
        /// What, as `starting server a`.
        text: String,
    },
    /// Data is being written.
    Populating {
        /// Name of the table that is worked on.
        table: String,
        /// Rows written, of all tables.
        rows: u64,
        /// Rows to write, of all tables.
        rows_total: u64,
        /// Rows per second now.
        rows_per_s: f64,
        /// Time left; absent before it can be told.
        left_s: Option<f64>,
    },
    /// All data is written.
    Populated {
        /// Rows of all tables.
        rows: u64,
        /// How long it took.
        took_s: f64,
    },
    /// A short run of the search for the saturation ended.
    Probed {
        /// Label of the series.
        series: String,
        /// Arrival rate; absent for a closed probe.
        rate_per_s: Option<f64>,
        /// Completions per second.
        throughput_per_s: f64,
        /// Utilisation in percent; absent where it is not available.
        theta_percent: Option<f64>,
        /// Whether the response settled.
        settled: bool,
    },
    /// All rates are known; the runs begin.
    Planned {
        /// Folder of the study.
        folder: String,
        /// Cells of the plan: rates of all series.
        cells: usize,
        /// Runs in all.
        runs: u32,
        /// Runs finished before.
        done: u32,
        /// Time left for the whole study.
        left_s: Option<f64>,
    },
    /// A run is measured now; shown again and again.
    Running {
        /// The run that is measured.
        run: RunName,
        /// `warm-up`, `measure` or `drain`.
        phase: String,
        /// Mean response time so far.
        tau_ms: Option<f64>,
        /// Utilisation so far.
        theta_percent: Option<f64>,
        /// Time left for the whole study.
        left_s: Option<f64>,
    },
    /// A run ended.
    RunFinished {
        /// The run that ended.
        run: RunName,
        /// Mean response time; none where nothing was answered.
        tau_ms: Option<f64>,
        /// 95th percentile, likewise.
        p95_ms: Option<f64>,
        /// Whether these are lower bounds.
        lower_bound: bool,
        /// Completions per second.
        throughput_per_s: f64,
        /// Utilisation in percent; absent where it is not available.
        theta_percent: Option<f64>,
        /// `settled`, `unstable` or `too-short`.
        stability: String,
        /// Codes of the run's caveats that are doubts or worse.
        caveats: Vec<String>,
    },
    /// A run was disturbed from outside; it is measured once more.
    MeasuredAgain {
        /// Which, with the attempt that begins.
        run: RunName,
        /// CPU time taken by the hypervisor.
        steal_percent: Option<f64>,
        /// CPU time used by others.
        other_load_percent: Option<f64>,
    },
    /// A sweep ended where the server carries no more.
    SweepEnded {
        /// The series that it is of.
        series: String,
        /// Why it ended.
        reason: String,
        /// Rates above, which are not measured.
        not_measured_per_s: Vec<f64>,
    },
    /// Records are converted.
    Converting {
        /// What is done now.
        step: String,
        /// Bytes that this step has read.
        bytes: u64,
        /// Bytes of all inputs; none of a pipe.
        bytes_total: Option<u64>,
        /// Records so far.
        records: u64,
        /// Records refused so far.
        rejects: u64,
        /// Bytes read per second.
        bytes_per_s: f64,
        /// Time left for this step.
        left_s: Option<f64>,
    },
    /// What is about to happen to a server that others use.
    Announced {
        /// Statements, connections and rates, on one line.
        text: String,
    },
    /// Something that the user should know now.
    Warning {
        /// What it is, as a sentence.
        text: String,
    },
    /// All is done, or it was stopped.
    Finished {
        /// Runs finished, of all that were planned.
        runs: u32,
        /// Whether that is all of them.
        complete: bool,
        /// Why a study whose runs are chosen one by one has ended.
        ended: Option<String>,
        /// What was written to servers that others use; absent where nothing was.
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
    /// Arrival rate asked for, per second.
    pub rate_per_s: f64,
    /// Repeat, from 1.
    pub repeat: u32,
    /// Attempt at it, from 1.
    pub attempt: u32,
}
