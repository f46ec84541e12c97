//! What a study is to measure, as plain types; the edge reads it from flags and files.

use super::StudyError;
use crate::store::StoreError;
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_core::rates::RatePlan;
use evenkeel_lab::data::DataSpec;
use evenkeel_lab::load::{PartsPlan, Protocol, SessionPolicy};
use evenkeel_lab::workload::{Statement, Workload, sql};
use evenkeel_site::elsewhere::Elsewhere;
use evenkeel_site::sandbox::{DiskLimit, SandboxSpec};
use evenkeel_site::server::Target;
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A study: series of cells over arrival rates, each repeated.
#[derive(Clone)]
pub struct StudySpec {
    /// `profile`, or the name of a study file.
    pub kind: String,
    /// Command line without secrets, enough to repeat or resume the study.
    pub command: Vec<String>,
    pub seed: Seed,
    pub rates: RatePlan,
    /// The same as it was written, for the plan.
    pub rate_text: String,
    pub repeats: u32,
    /// Measured phase of a run.
    pub duration: Nanos,
    /// Measured phase of a run near saturation at most, where a search has found that; as `duration` where none is to grow.
    pub longest: Nanos,
    pub warm_up: Nanos,
    /// Age at which a request is given up.
    pub timeout: Nanos,
    /// How connections are used, and how many there are at most.
    pub sessions: SessionPolicy,
    /// Whether fewer of them will do where the server or this process bears fewer: nobody asked for that many.
    pub sessions_fit: bool,
    /// How statements travel: prepared or as text.
    pub protocol: Protocol,
    /// What happens before each run.
    pub reset: Reset,
    /// Objective for the 95th percentile.
    pub objective_p95: Option<Nanos>,
    pub generator_cpus: Vec<usize>,
    /// Of how many requests the parts of the response time are to be known; `None` of none.
    pub parts: Option<PartsPlan>,
    /// How often a disturbed run is measured again at most.
    pub retries: u32,
    /// Where runs are chosen one by one, until when; their rates and repeats are then found on the way.
    pub budget: Option<Budget>,
    /// Whether rates above the end of a sweep are measured too.
    pub whole_sweep: bool,
    /// Servers with their data; series name them by index.
    pub sites: Vec<SiteSpec>,
    /// What changes besides the rate.
    pub series: Vec<SeriesSpec>,
}

impl StudySpec {
    /// Whether data is restored before each run: a private server has a copy of it, and the runs write.
    pub fn restores(&self) -> bool {
        let restores = |series: &SeriesSpec| {
            let place = self.sites.get(series.site).map(|site| &site.place);
            let has_copy =
                matches!(place, Some(ServerSpec::Named { .. } | ServerSpec::Sandbox { data: Some(_), .. }));
            has_copy && series.writes()
        };
        self.reset == Reset::Full && self.series.iter().any(restores)
    }
}

/// When a study whose runs are chosen one by one has enough.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    /// Width of the bounds beside their middle; 0.05 is 5 %.
    pub until: Option<f64>,
    /// Time from the start, or from the resume.
    pub within: Option<Nanos>,
}

/// What happens before each run, so that runs do not inherit from each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reset {
    /// Server restarted (reads) or database restored and server restarted (writes).
    Full,
    /// This shell command is run, and the server awaited.
    Command(String),
    /// Nothing is done, and runs follow one another.
    Nothing,
}

/// A server with one data set on it.
#[derive(Clone)]
pub struct SiteSpec {
    pub target_label: String,
    /// Where it is.
    pub place: ServerSpec,
    /// Who sees it, where somebody on its own machine is to; otherwise this machine does, as far as it can.
    pub elsewhere: Option<Elsewhere>,
    /// Whether others use it too, so that it is asked gently and what is written is counted.
    pub of_others: bool,
    /// Statements that make a private server's database what a level of a factor says, once, when its data is there.
    pub sql: Vec<String>,
}

/// Where a site is.
#[derive(Clone)]
pub enum ServerSpec {
    /// A server that somebody else runs.
    Remote(Target),
    /// A private one that somebody started and that stays: restarted for the runs, and left as it was found.
    Named {
        /// Root directory of all sandboxes.
        home: PathBuf,
        name: String,
        database: String,
    },
    /// A private one that lives as long as the study.
    Sandbox {
        /// What the private server is like.
        sandbox: SandboxSpec,
        /// Data; `None` where the workload brings its own.
        data: Option<DataSpec>,
    },
}

/// One combination of factors other than the rate.
#[derive(Clone)]
pub struct SeriesSpec {
    pub label: String,
    /// Index into the plan's targets.
    pub target: usize,
    /// Index into [`StudySpec::sites`].
    pub site: usize,
    pub workload: Arc<dyn Workload>,
    /// Size of the buffer pool; `None` where the server's own stays.
    pub pool: Option<PoolSize>,
    /// What its disk gives at most while it is measured; a private server alone has one.
    pub disk: DiskLimit,
    pub layout: String,
    /// Level of each factor of a study file.
    pub levels: BTreeMap<String, String>,
}

impl SeriesSpec {
    /// Whether its runs change the database.
    pub(super) fn writes(&self) -> bool {
        writes(self.workload.as_ref())
    }

    /// Whether what its runs write is counted: also where a stored function may write.
    pub(super) fn may_write(&self) -> bool {
        self.workload.statements().iter().any(Statement::may_write)
    }
}

pub fn writes(workload: &dyn Workload) -> bool {
    workload.statements().iter().any(|statement| sql::may_write(&statement.sql))
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PoolSize {
    /// Percent of the tables and indexes that the workload uses.
    Percent(f64),
    /// A size in bytes.
    Bytes(u64),
}

// Private servers are a study's own until it has ended: between its runs they are stopped, and another study that found one so
// would start it, and disturb both.

/// Locks every private server of a study for as long as the files are open; the kernel lets go of them however we end.
pub(super) fn hold(sites: &[SiteSpec]) -> Result<Vec<File>, StudyError> {
    let private = sites.iter().filter_map(|site| match &site.place {
        ServerSpec::Sandbox { sandbox, .. } => Some((&sandbox.home, &sandbox.name)),
        ServerSpec::Named { home, name, .. } => Some((home, name)),
        ServerSpec::Remote(_) => None,
    });
    private.map(|(home, name)| hold_one(home, name)).collect()
}

fn hold_one(home: &Path, name: &str) -> Result<File, StudyError> {
    let folder = home.join("sandboxes").join(name);
    // Closed to others, as the server makes it.
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    made.map_err(StoreError::io("make", &folder))?;
    let path = folder.join("study.lock");
    let file = evenkeel_os::open_own(&path).map_err(StoreError::io("open", &path))?;
    match evenkeel_os::exclusive(&file) {
        true => Ok(file),
        false => Err(StudyError::Held { name: name.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_server_is_one_study_s_until_it_ends_and_nobody_is_told_to_stop_it() {
        let home = tempfile::tempdir().unwrap();
        let first = hold_one(home.path(), "a").unwrap();
        let other = hold_one(home.path(), "b").unwrap();
        let error = hold_one(home.path(), "a").unwrap_err();
        let hint = error.hint().unwrap_or_default();
        assert!(error.to_string().contains("\"a\" is measured by another study"), "{error}");
        assert!(hint.contains("wait") && !hint.contains("sandbox down"), "{hint}");
        drop(first);
        drop((hold_one(home.path(), "a").unwrap(), other));
    }
}
