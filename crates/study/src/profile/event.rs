//! What a study tells while it goes on. Closed: views listen, nobody else.

use crate::store::format::{CellRecord, ProbeRecord, RunFile, SummaryFile};
use evenkeel_core::Nanos;
use evenkeel_core::disturbance::Disturbance;
use evenkeel_lab::data::DataProgress;
use evenkeel_lab::load::LoadProgress;
use evenkeel_site::sandbox::SandboxEvent;
use std::path::PathBuf;

pub(super) type Notify<'a> = &'a mut dyn FnMut(StudyEvent);

#[derive(Clone, Debug)]
pub enum StudyEvent {
    /// A server is being started, stopped or asked.
    Preparing(String),
    /// What is about to happen to a server that others use.
    Announced(String),
    /// Something that disturbs and does not stop.
    Warning(String),
    Data(DataProgress),
    Probed(ProbeRecord),
    /// The folder is there and the plan stands in it.
    Planned {
        folder: PathBuf,
        cells: usize,
        runs: u32,
        /// Runs that are finished already.
        done: u32,
        /// How long the rest takes, roughly.
        time_left: Nanos,
    },
    RunBegins {
        cell: CellRecord,
        series: String,
        /// Repeat, from 1.
        repeat: u32,
        /// Attempt at it, from 1.
        attempt: u32,
        /// Place in the order of all runs, from 1.
        order: u32,
        runs: u32,
        /// How long the rest takes, roughly.
        time_left: Nanos,
    },
    Load {
        load: LoadProgress,
        /// CPU utilisation of the domain in the last seconds, percent.
        theta_percent: Option<f64>,
    },
    /// A run was disturbed from outside and is measured once more.
    MeasuredAgain {
        cell: CellRecord,
        series: String,
        /// Repeat, from 1.
        repeat: u32,
        /// The attempt at it that begins, from 2.
        attempt: u32,
        /// Place of that attempt in the order of all runs, from 1.
        order: u32,
        runs: u32,
        because: Disturbance,
    },
    RunEnds(Box<RunFile>),
    /// A sweep ends where the server carries no more.
    SweepEnds {
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
