//! `evenkeel profile`: sweep the arrival rate on a server.

use super::progress_events::ProgressEvents;
use super::spec::{self, Study};
use super::{Session, resume};
use crate::clock::unix_time;
use crate::failed;
use crate::failure::{FINDING, Hint, NOT_VALID};
use crate::out;
use crate::progress::{Mode, View};
use crate::signals;
use crate::table;
use anyhow::{Context, Result};
use clap::ValueEnum;
use evenkeel_core::trust::Tolerance;
use evenkeel_site::server::without_password;
use evenkeel_study::profile::{self as lab_study, StudyError};
use evenkeel_study::store::StudyFolder;
use evenkeel_study::store::format::{PlanFile, RunFile, SummaryFile};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Which process arrivals follow.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Arrivals {
    /// Independent arrivals
    Poisson,
    /// Evenly spaced arrivals
    Constant,
}

/// How statements travel.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ProtocolName {
    /// Prepared once per session
    Prepared,
    /// Text with the parameters written in
    Text,
}

/// Flags of `evenkeel profile`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel profile
      a private MariaDB on all CPUs but one, TPC-W data; ten minutes of runs, each where it tells most
  evenkeel profile mysql://bench@db1/tpcw --rate 10..:10 --repeats 20 --duration 180s
      the study's own settings; the password comes from EVENKEEL_PASSWORD or ?defaults-file=
  evenkeel profile --factor buffer-pool=20%..100% --factor layout=insert,dump --sandboxes 2
      why a profile differs from run to run and from machine to machine
  evenkeel profile --workload examples/workloads/orders.toml mysql://app@db1/shop --rate 100,200,400
  evenkeel profile --within 10m --until 5%
      runs where they tighten the bounds most, until these lie 5 % apart or ten minutes are over
  evenkeel profile mysql://app@db1/shop --workload orders.toml --sense-with 'ssh db1 evenkeel sense'
      the server's CPU use as the machine db1 sees it; --sense-from http://db1:9100/metrics where it has node_exporter
  evenkeel profile --resume last
      go on where a stopped or killed study was

The first sentence says what the server carries at least and at most, with 95 % confidence; the second how far response
times can be trusted. Runs whose generator was late are left out of the bounds and named. Exit code 3 only where not even
one bound can be given.

Without URL a private server is started (a sandbox) and stopped afterwards; its data is kept and used again.

Exit codes: 0 done; 1 most requests of a rate failed, and the first line says by which errors; 2
wrong use, no server, or one that refuses a statement; 3 not even one bound can be given; 130, 143 stopped by Ctrl-C, SIGTERM, and finished runs are kept.")]
pub struct Args {
    /// Servers, as mysql://user@host:port/database, sandbox:NAME or sandbox:NAME/DATABASE; several are interleaved
    /// and compared
    #[arg(value_name = "URL")]
    pub targets: Vec<String>,
    /// TPC-W statement or mix by name, `dvdstore`, or a TOML file; `evenkeel explain --list` names them
    #[arg(long, short, value_name = "NAME|FILE", default_value = "tpcw.complex")]
    pub workload: String,
    /// Arrival rates per second: auto:N, FROM..TO:STEP (TO may be left out), or a list [default: rates and runs are
    /// chosen one by one, see --within; auto:8 beside --repeats]
    #[arg(long, short, value_name = "RATES", allow_hyphen_values = true)]
    pub rate: Option<String>,
    /// Runs of each cell [default beside --rate: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: Option<u32>,
    /// Choose rates and runs one by one, where each tightens the bounds most, until these are so narrow (5%: at least and
    /// at most lie 5 % apart)
    #[arg(long, value_name = "WIDTH", conflicts_with_all = ["rate", "repeats", "whole_sweep", "retries"])]
    pub until: Option<String>,
    /// The same until the time is up, search and restarts included; with --until whichever comes first [default without
    /// --until, --rate and --repeats: 10m for each series]
    #[arg(long, value_name = "TIME", conflicts_with_all = ["rate", "repeats", "whole_sweep", "retries"])]
    pub within: Option<String>,
    /// Measured time of a run [default: 10s]
    #[arg(long, short, value_name = "TIME")]
    pub duration: Option<String>,
    /// Measured time at most of a run near the saturation that a search has found, where response times depend on one
    /// another for longer [default: as --duration; 40s where neither --duration nor --within is given]
    #[arg(long, value_name = "TIME")]
    pub longest: Option<String>,
    /// Load before measuring begins
    #[arg(long, value_name = "TIME", default_value = "3s")]
    pub warm_up: String,
    /// Age at which a request is given up; it then counts with the age it reached
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub timeout: String,
    /// A further factor: buffer-pool=20%..100% (of the statement's tables) or layout=insert,dump
    #[arg(long, value_name = "NAME=LEVELS")]
    pub factor: Vec<String>,
    /// Seed of arrivals, parameters, order and data; the same seed gives the same requests
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Which process arrivals follow
    #[arg(long, value_enum, default_value_t = Arrivals::Poisson)]
    pub arrivals: Arrivals,
    /// How statements travel
    #[arg(long, value_enum, default_value_t = ProtocolName::Prepared)]
    pub protocol: ProtocolName,
    /// Most connections in the pool [default: as many as the server and open files bear, and 1,000 at most]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub max_sessions: Option<u32>,
    /// A fresh connection for each request instead of a pool
    #[arg(long)]
    pub per_request: bool,
    /// Objective for the 95th percentile; the headline then names the highest rate that meets it
    #[arg(long, value_name = "TIME")]
    pub objective: Option<String>,
    /// Standard error over runs that is trusted, percent of tau
    #[arg(long, value_name = "PERCENT", default_value_t = Tolerance::default().standard_error)]
    pub tolerance_se: f64,
    /// Difference between servers that is trusted, percent of tau
    #[arg(long, value_name = "PERCENT", default_value_t = Tolerance::default().spread)]
    pub tolerance_spread: f64,
    /// CPU utilisation at which a sweep ends, percent; one below counts as reached. auto:N goes on beyond 100
    #[arg(long, value_name = "PERCENT", default_value_t = 100.0)]
    pub theta_ceiling: f64,
    /// Measure every rate of a list or of auto:N, also those above the one at which the response does not settle or
    /// the server refuses connections
    #[arg(long)]
    pub whole_sweep: bool,
    /// How often a run is measured again at most, at the end of its block, where more than 2 % of the CPU time were
    /// stolen or more than 5 % used by others; the least disturbed attempt stands, whatever its response time
    /// [default beside --rate: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=10))]
    pub retries: Option<u32>,
    /// Do not restart the server (or restore the database) before each run
    #[arg(long)]
    pub no_reset: bool,
    /// Shell command that restarts or restores a server of yours before each run. EVENKEEL_TARGET and EVENKEEL_URL (without
    /// password) in its environment say which. Kept with the study, so name no password in it
    #[arg(long, value_name = "COMMAND", conflicts_with = "no_reset")]
    pub reset_command: Option<String>,
    /// Command that tells of the machine of a server elsewhere, run without a shell and ended with the study: theta, CPU per
    /// request and stolen time come from its lines. Once for each URL; kept with the study, so name no password in it
    #[arg(long, value_name = "COMMAND", conflicts_with = "sense_from")]
    pub sense_with: Vec<String>,
    /// Page of node_exporter on the machine of a server elsewhere, http://HOST:9100/metrics: theta is that of the whole
    /// machine then. Once for each URL
    #[arg(long, value_name = "HTTP-URL")]
    pub sense_from: Vec<String>,
    /// CPUs for the load threads [default with a private server: the last one]
    #[arg(long, value_name = "LIST")]
    pub generator_cpus: Option<String>,
    /// Keep one line per request (CSV, compressed with zstd)
    #[arg(long)]
    pub request_log: bool,
    /// What the private server is like
    #[command(flatten)]
    pub server: super::sandbox::ServerArgs,
    /// Private servers to compare, each with its own data
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    pub sandboxes: u32,
    /// What data the private server holds
    #[command(flatten)]
    pub data: super::data::DataArgs,
    /// Folder for studies [default: HOME/runs]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Go on with a stopped study: its folder, its name or the start of it, or `last`; with its own flags and no others
    #[arg(long, value_name = "STUDY")]
    pub resume: Option<String>,
    /// Write events as JSON lines to the error stream instead of a progress line
    #[arg(long)]
    pub json: bool,
}

/// Profiles, or goes on with a profile, and prints what came out.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let root = session.runs_dir(args.output.as_ref());
    let (study, folder) = match &args.resume {
        Some(name) => resume::study(session, &root, name)?,
        None => started(session, &root, args)?,
    };
    let summary = measure(session, &study, &folder, args.resume.is_none(), args.json)?;
    finish(session, &folder, &summary)
}

/// Measures what the folder does not have yet, with its progress shown.
pub(super) fn measure(
    session: &Session,
    study: &Study,
    folder: &StudyFolder,
    is_new: bool,
    json: bool,
) -> Result<SummaryFile> {
    let mut view = View::new(mode(session, json));
    let mut events = ProgressEvents::new(&study.spec);
    let outcome = lab_study::run(&study.spec, folder, &session.stop, &mut |event| {
        if let Some(event) = events.of(event) {
            view.show(&event);
        }
    });
    drop(view);
    if outcome.is_err() && is_new {
        discard_if_empty(folder);
    }
    let summary = outcome.map_err(|error| named(error, folder));
    summary.with_context(|| format!("measuring {}", folder.path().display()))
}

/// An error whose hint names this study, and not whichever is the last one when somebody reads it.
fn named(error: StudyError, folder: &StudyFolder) -> anyhow::Error {
    const LAST: &str = "--resume last";
    let (hint, name) = (error.hint(), folder.path().file_name().unwrap_or_default().to_string_lossy());
    match hint.filter(|hint| hint.contains(LAST)) {
        Some(hint) => {
            anyhow::Error::from(error).context(Hint(hint.replace(LAST, &format!("--resume {name}"))))
        }
        None => error.into(),
    }
}

/// A study that failed before its first run has nothing to keep or to resume.
fn discard_if_empty(folder: &StudyFolder) {
    let has_no_cells = folder.plan().is_ok_and(|plan| plan.cells.is_empty());
    if has_no_cells && folder.runs().is_ok_and(|runs| runs.is_empty()) {
        // Where it cannot be removed it is listed without runs, which is true.
        let _ = std::fs::remove_dir_all(folder.path());
    }
}

/// A new study: its folder, and in it the plan and the workload's own file.
fn started(session: &Session, root: &Path, args: &Args) -> Result<(Study, StudyFolder)> {
    let study = spec::study(session, args, recorded_command(), None)?;
    let now = unix_time().as_secs();
    let workload = study.spec.series.first().map_or("profile", |series| series.workload.name());
    let plain = for_folder(workload);
    let id = format!("{}-{plain}-{:04x}", crate::format::stamp(now), std::process::id() & 0xffff);
    let plan = lab_study::new_plan(&study.spec, id, now, study.settings.clone(), study.targets.clone());
    let file = super::place::is_file(&args.workload).then(|| PathBuf::from(&args.workload));
    let folder = resume::create(root, plan, file.as_deref().map(|file| (file, WORKLOAD_FILE)))?;
    Ok((study, folder))
}

/// Copy of the user's workload in the study's folder, so that a resumed study asks what it asked before.
pub(super) const WORKLOAD_FILE: &str = "workload.toml";

/// A workload's name as a part of a folder's: its beginning, since a file system has an end for names.
fn for_folder(workload: &str) -> String {
    const LETTERS_MAX: usize = 60;
    let plain = |c: char| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '-' };
    workload.chars().take(LETTERS_MAX).map(plain).collect()
}

/// This command line, without the program's name and without passwords.
fn recorded_command() -> Vec<String> {
    // A path need not be text; where one is none, nothing of a study depends on it but the folder that it is in.
    std::env::args_os().skip(1).map(|argument| recorded(&argument.to_string_lossy())).collect()
}

/// An argument as it is kept: of a server's URL all but the password, and all of anything else. A command that is run again must not
/// become another one, whatever it holds.
fn recorded(argument: &str) -> String {
    let is_server = ["mysql://", "mariadb://"].iter().any(|scheme| argument.starts_with(scheme));
    if is_server { without_password(argument) } else { argument.to_owned() }
}

/// Prints the table, writes the report, and says how it ended.
pub(super) fn finish(session: &Session, folder: &StudyFolder, summary: &SummaryFile) -> Result<ExitCode> {
    let (plan, runs) = (folder.plan()?, folder.runs()?);
    out::write(&table::profile(&plan, summary, &runs, super::look()))?;
    let report = super::report::write(folder)?;
    if !session.quiet {
        out::line(format!("\nreport: {}", report.display()))?;
    }
    Ok(exit_code(&plan, &runs, summary))
}

/// How a study ended.
pub(super) fn exit_code(plan: &PlanFile, runs: &[RunFile], summary: &SummaryFile) -> ExitCode {
    let has_bounds = summary.headlines.iter().any(|headline| headline.bounds.is_something());
    let finding = failed::of_study(plan, summary, runs);
    match (summary.complete, finding, has_bounds) {
        (false, ..) => signals::exit_code(),
        (true, Some(_), _) => ExitCode::from(FINDING),
        (true, None, true) => ExitCode::SUCCESS,
        (true, None, false) => ExitCode::from(NOT_VALID),
    }
}

/// How progress is shown.
pub fn mode(session: &Session, json: bool) -> Mode {
    match (json, session.quiet, std::io::stderr().is_terminal()) {
        (true, ..) => Mode::Json,
        (_, true, _) => Mode::Quiet,
        (.., true) => Mode::Live,
        (.., false) => Mode::Lines,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_kept_as_it_was_given_and_a_server_without_its_password() {
        for (given, kept) in [
            ("mysql://app:s3cret@db1/shop", "mysql://app@db1/shop"),
            ("mariadb://app:s3cret@db1/shop?tls=required", "mariadb://app@db1/shop?tls=required"),
            ("curl -s http://db1:8080/restart && ssh root@db1 true", ""),
            ("--reset-command=curl http://db1:8080/x; ssh root@db1", ""),
            ("--sense-with=ssh -J http://hop:22 bench@db1 evenkeel sense", ""),
            ("--workload", ""),
        ] {
            assert_eq!(recorded(given), if kept.is_empty() { given } else { kept });
        }
    }

    #[test]
    fn a_folder_has_the_beginning_of_a_name_without_what_leads_elsewhere() {
        assert_eq!(for_folder("shop.orders"), "shop.orders");
        assert_eq!(for_folder("../../up"), "..-..-up");
        assert_eq!(for_folder(&"ü".repeat(300)), "-".repeat(60));
    }
}
