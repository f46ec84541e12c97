//! What a study tells while it goes on. Closed: views listen, nobody else.

use crate::store::format::{CellRecord, ProbeRecord, RunFile, SummaryFile};
use evenkeel_core::Nanos;
use evenkeel_core::disturbance::Disturbance;
use evenkeel_lab::data::DataProgress;
use evenkeel_lab::load::LoadProgress;
use evenkeel_site::sandbox::SandboxEvent;
use std::path::PathBuf;

/// Who is told.
pub(super) type Notify<'a> = &'a mut dyn FnMut(StudyEvent);

/// One step of a study.
#[derive(Clone, Debug)]
pub enum StudyEvent {
    /// A server is being started, stopped or asked.
    Preparing(String),
    /// What is about to happen to a server that others use.
    Announced(String),
    /// Something that disturbs and does not stop.
    Warning(String),
    /// Data is going in.
    Data(DataProgress),
    /// A probe of the search for the saturation is over.
    Probed(ProbeRecord),
    /// The folder is there and the plan stands in it.
    Planned {
        /// The study's folder.
        folder: PathBuf,
        /// Cells known so far.
        cells: usize,
        /// Runs in all, as far as known.
        runs: u32,
        /// Runs that are finished already.
        done: u32,
        /// How long the rest takes, roughly.
        time_left: Nanos,
    },
    /// A run begins.
    RunBegins {
        /// The cell that the run belongs to.
        cell: CellRecord,
        /// Label of its series.
        series: String,
        /// Repeat, from 1.
        repeat: u32,
        /// Attempt at it, from 1.
        attempt: u32,
        /// Place in the order of all runs, from 1.
        order: u32,
        /// Runs in all, as far as known.
        runs: u32,
        /// How long the rest takes, roughly.
        time_left: Nanos,
    },
    /// A run goes on.
    Load {
        /// What the generator says.
        load: LoadProgress,
        /// CPU utilisation of the domain in the last seconds, percent.
        theta_percent: Option<f64>,
    },
    /// A run was disturbed from outside and is measured once more.
    MeasuredAgain {
        /// The cell that the run belongs to.
        cell: CellRecord,
        /// Label of its series.
        series: String,
        /// Repeat, from 1.
        repeat: u32,
        /// The attempt at it that begins, from 2.
        attempt: u32,
        /// Place of that attempt in the order of all runs, from 1.
        order: u32,
        /// Runs in all, as far as known.
        runs: u32,
        /// What disturbed it.
        because: Disturbance,
    },
    /// A run is finished and stored.
    RunEnds(Box<RunFile>),
    /// A sweep ends where the server carries no more.
    SweepEnds {
        /// Labels of the series.
        series: String,
        /// Why the sweep ends, in words.
        reason: String,
        /// Rates above, which are not measured.
        not_measured: Vec<f64>,
    },
    /// All is done, or as far as it got.
    Ends(Box<SummaryFile>),
}

/// Tells what becomes of a private server.
pub(super) fn tell_sandbox(event: SandboxEvent, tell: Notify<'_>) {
    let text = match event {
        SandboxEvent::Bootstrapping { server } => format!("making a data directory for {server}"),
        SandboxEvent::Starting { pid } => format!("starting the server (process {pid})"),
        SandboxEvent::Ready { .. } => return,
        SandboxEvent::Stopping { pid } => format!("stopping the server (process {pid})"),
        SandboxEvent::Note(text) => text,
    };
    tell(StudyEvent::Preparing(text));
}
