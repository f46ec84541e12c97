//! What a study tells while it goes on. Closed: views listen, nobody else.

use crate::store::format::{ProbeRecord, RunFile, SummaryFile};
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
        run: RunPlace,
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
        /// With the attempt that begins.
        run: RunPlace,
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

/// Which run of a study.
#[derive(Clone, Debug)]
pub struct RunPlace {
    /// Label of the series.
    pub series: String,
    pub rate_per_s: f64,
    /// Repeat, from 1.
    pub repeat: u32,
    /// Attempt at it, from 1.
    pub attempt: u32,
    /// Place in the order of all runs, from 1.
    pub order: u32,
    /// Runs in all, with those that were made again, as far as known.
    pub runs: u32,
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
