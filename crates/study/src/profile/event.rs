//! What a study tells while it goes on, which is closed: views listen, nobody else; and why it cannot go on.

use crate::store::StoreError;
use crate::store::format::{ProbeRecord, RunFile, SummaryFile};
use evenkeel_core::Nanos;
use evenkeel_core::disturbance::Disturbance;
use evenkeel_core::rates::{RatePlanError, SearchFailure};
use evenkeel_lab::data::{DataError, DataProgress};
use evenkeel_lab::explain::ExplainError;
use evenkeel_lab::load::{LoadError, LoadProgress};
use evenkeel_sense::SenseError;
use evenkeel_site::copy::CopyError;
use evenkeel_site::elsewhere::ElsewhereError;
use evenkeel_site::sandbox::{SandboxError, SandboxEvent};
use evenkeel_site::server::{Problem, TargetError};
use serde::Serialize;
use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

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
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunPlace {
    /// Place among all runs, from 1.
    pub number: u32,
    /// Runs in all, with those that were made again, as far as known.
    pub total: u32,
    /// Label of the series; the workload where there is only one.
    pub series: String,
    pub rate_per_s: f64,
    /// From 1, as the attempt.
    pub repeat: u32,
    pub attempt: u32,
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

/// Why a study cannot go on. What was finished before stays in its folder.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Data(#[from] DataError),
    #[error(transparent)]
    Copy(#[from] CopyError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Sense(#[from] SenseError),
    #[error(transparent)]
    Elsewhere(#[from] ElsewhereError),
    #[error(transparent)]
    Explain(#[from] ExplainError),
    #[error(transparent)]
    Rates(#[from] RatePlanError),
    /// The saturation could not be found.
    #[error("cannot find the saturation of {series}: {source}")]
    Search { series: String, source: SearchFailure },
    /// The server cannot carry what the runs need.
    #[error("the server does not meet what the runs need:\n{}", told(.0))]
    Preflight(Vec<Problem>),
    /// A pool smaller than any server starts with.
    #[error(
        "a buffer pool of {percent} % of {tables_bytes} bytes is {pool_bytes} bytes, below the server's minimum of \
         {minimum_bytes}"
    )]
    SmallPool { percent: f64, tables_bytes: u64, pool_bytes: u64, minimum_bytes: u64 },
    /// The size of the workload's tables is not known.
    #[error("cannot tell the size of the tables of {workload}, so a pool in percent of them has no meaning")]
    UnknownSize { workload: String },
    /// The server died while it was being measured.
    #[error("the server died during a run: {0}")]
    ServerDied(String),
    /// A sandbox holds what write runs of another study left.
    #[error("the data was changed by study {study}, which was killed before it restored it")]
    WrittenBy { study: String, folder: PathBuf },
    /// A server has another value than was set.
    #[error("{name} was set to {set}, and the server has {found}")]
    NotSet { name: String, set: String, found: String },
    /// Another study is under way on a private server.
    #[error("the private server {name:?} is measured by another study, or named twice in this one")]
    Held { name: String },
    #[error("the reset command {command:?} {how}")]
    Reset { command: String, how: String },
    /// The stored study is another one.
    #[error("the stored study differs from what its command asks for now: {0}")]
    Differs(String),
    /// A server of others carries far less than when the study began; requests per second.
    #[error("the server is near its limit at {now}/s now, and the study began at {begun}/s")]
    Slower { begun: String, now: String },
    /// A thread or process could not be started.
    #[error("cannot start {what}: {source}")]
    Start { what: &'static str, source: io::Error },
    /// Somebody asked to stop.
    #[error("stopped")]
    Stopped,
}

/// Where to look when the server is silent, and how to go on afterwards.
const SILENT_HINT: &str = "check the network. See in `ps -C mariadbd,mysqld -o pid,stat,wchan` whether the \
                           server is stopped (T) or waits for a disk (D), and in its error log whether disk \
                           space or memory ran out; finished runs are kept: continue with `--resume`";

/// Where to look when a connection is gone, and how to go on afterwards.
const LOST_HINT: &str = "see in the server's error log whether it was restarted, crashed or closed the \
                         connection (KILL, wait_timeout), and whether a proxy or firewall closes \
                         connections; finished runs are kept: continue with `--resume`";

/// How a sandbox gets rid of what write runs left, also where the folder of their study was deleted.
fn by_hand(study: &str, folder: &Path) -> String {
    let (name, folder) = (folder.file_name().unwrap_or_default().to_string_lossy(), folder.display());
    format!(
        "continue that study, which restores the data and drops what was changed since (`evenkeel runs {study}` shows the command). If it \
         was deleted, do it by hand in {folder}: remove the file snapshot.study to keep the data as it is \
         now; or, for the data as it was before those runs, stop the server (`evenkeel sandbox down \
         {name}`), move the folder data away, rename the folder snapshot to data, and remove snapshot.study"
    )
}

fn told(problems: &[Problem]) -> String {
    let line = |problem: &Problem| format!("  {}: {}; {}", problem.subject, problem.text, problem.hint);
    problems.iter().map(line).collect::<Vec<_>>().join("\n")
}

impl StudyError {
    /// Whether it is no failure: somebody asked to stop, wherever that was noticed.
    pub fn is_stop(&self) -> bool {
        match self {
            Self::Stopped
            | Self::Target(TargetError::Stopped)
            | Self::Elsewhere(ElsewhereError::Stopped)
            | Self::Sandbox(SandboxError::Stopped { .. } | SandboxError::Target(TargetError::Stopped)) => {
                true
            }
            Self::Data(error) => error.is_stop(),
            Self::Explain(error) => error.is_stop(),
            _ => false,
        }
    }

    /// Whether a load could not begin for another one's sake, so that the other one tells why.
    pub(crate) fn is_called_off(&self) -> bool {
        matches!(self, Self::Load(LoadError::CalledOff))
    }

    /// Whether the server does not answer, so that nobody need wait for it to end by itself.
    pub(super) fn is_silence(&self) -> bool {
        matches!(self, Self::Target(TargetError::Silent { .. } | TargetError::Timeout { .. }))
    }

    /// What the user can do about it; with [`GOES_ON`](crate::store::GOES_ON) where the study is to go on.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Self::Sandbox(error) => return error.hint(),
            Self::Target(TargetError::Silent { .. } | TargetError::Timeout { .. }) => SILENT_HINT.into(),
            Self::Target(TargetError::Lost { .. }) | Self::Explain(ExplainError::Target(TargetError::Lost { .. })) => {
                LOST_HINT.into()
            }
            Self::Target(error) => error.hint()?.into(),
            Self::Data(error) => error.hint()?.into(),
            Self::Copy(error) => error.hint()?.into(),
            Self::Store(error) => error.hint()?.into(),
            Self::Elsewhere(error) => error.hint()?.into(),
            Self::Load(error) if error.is_disk_full() => {
                "free some space and continue with `--resume`".into()
            }
            Self::Load(error) => error.hint()?.into(),
            Self::Search { .. } => {
                "give the rates yourself, for example --rate 10..:10, and look at `evenkeel explain`".into()
            }
            Self::Preflight(_) => "fix what is listed; if connections are too few, lower --max-sessions".into(),
            Self::SmallPool { .. } => "take more data (--items, --ebs) or larger percentages".into(),
            Self::UnknownSize { .. } => {
                "name the tables of each statement in the workload, or give the pool in bytes".into()
            }
            Self::ServerDied(_) => "finished runs are kept; continue with `--resume`".into(),
            Self::WrittenBy { study, folder } => by_hand(study, folder).into(),
            Self::NotSet { name, found, .. } => format!(
                "the server must use the value that you set: write it as the server shows it (--set \
                 {name}={found}), or set one that it accepts"
            )
            .into(),
            Self::Held { .. } => {
                "wait until that study has ended, which `evenkeel runs` shows, or give this one a folder of its own by --home; \
                 measure databases of one server one after the other"
                    .into()
            }
            Self::Reset { .. } => "try the command by hand".into(),
            Self::Explain(error @ ExplainError::Refused(_)) => error.hint().unwrap_or(
                "fix the statement, or GRANT the account what it lacks; `evenkeel explain` shows all that the server refuses",
            ).into(),
            Self::Slower { .. } => {
                "look for what has changed (an index, other load, a limit); then start a new study, or resume when the server is as it was".into()
            }
            Self::Differs(_) => "start a new study, or resume with the files and data it started with".into(),
            Self::Explain(error) => error.hint()?.into(),
            Self::Sense(_) | Self::Rates(_) | Self::Start { .. } | Self::Stopped => {
                return None;
            }
        })
    }
}
