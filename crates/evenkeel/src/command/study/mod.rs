//! `evenkeel study`: published studies, made again on this machine, with a page that puts both findings side by side.

mod file;
mod kept;
mod shares;
mod telecom;
mod throttling;
mod variation;

use super::Session;
use crate::failure::WithHint;
use crate::out;
use anyhow::{Result, anyhow};
use evenkeel_lab::workload::similar;
use evenkeel_study::published::{SHIPPED, Shipped};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Flags of `evenkeel study`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  evenkeel study --list
      the built-in studies; with --json for programs
  evenkeel study examples/studies/setting.toml
      a study of your own: does a setting matter? the file says what to change, and how often to repeat
  evenkeel study --resume last
      continue a stopped study of a file
  evenkeel study throttling --quick
      a published study, in short
  evenkeel study throttling --clients 1,4,16,64,256 --repeats 5 --duration 30s
  evenkeel study throttling --resume last
  evenkeel study shares
  evenkeel study telecom --quick
  evenkeel study variation --quick
      why a profile varies: from run to run, from start to start, from server to server

Exit codes: 0 done; 2 wrong use, no server, or one that refuses a statement; 130, 143 stopped by Ctrl-C, SIGTERM: \
finished runs are kept (continue with --resume). A study of a file also has, like a profile, 1 most requests of a rate \
failed, 3 no bound is known.")]
pub struct Args {
    /// List the studies with their commands
    #[arg(long, conflicts_with_all = ["file", "resume", "output", "name"])]
    list: bool,
    /// A study of your own: factors and their levels, the workload, and what is compared; examples/studies shows every key
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Continue a stopped study of a file: its folder, its name or a prefix of it, or `last`
    #[arg(long, value_name = "STUDY", conflicts_with = "file")]
    resume: Option<String>,
    /// Name of the study of a file, as `compare`, `report` and other commands take it [default: time and name of the file]
    #[arg(long, value_name = "NAME", requires = "file")]
    name: Option<String>,
    /// With --resume: raise the number of runs of each cell to N
    #[arg(long, value_name = "N", requires = "resume", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeats: Option<u32>,
    /// Folder for studies of files [default: HOME/runs]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Findings, or the list of studies, as JSON
    #[arg(long)]
    json: bool,
    /// Which published study is made
    #[command(subcommand)]
    study: Option<Study>,
}

#[derive(Debug, clap::Subcommand)]
enum Study {
    /// Throughput by number of clients: without control, with the published controller, and with ours
    Throttling(Box<throttling::Args>),
    /// Hosts that share storage, by the published law and by ours: simulated, in real time, or with databases
    Shares(Box<shares::Args>),
    /// How much response times differ from run to run, start to start and server to server, and why
    Variation(Box<variation::Args>),
    /// Call records: export, load, dispatch and audit, also with a server that is killed; each figure beside the published one
    Telecom(Box<telecom::Args>),
}

/// Makes a study, or lists them.
///
/// # Errors
/// Wrong flags, a server that does not start, a disk that is full.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let folder = file::Folder { output: args.output.as_ref(), json: args.json };
    if let Some(file) = &args.file {
        check_name(file)?;
        return file::start(session, file, args.name.as_deref(), &folder);
    }
    if let Some(name) = &args.resume {
        return file::resume(session, name, args.repeats, &folder);
    }
    match &args.study {
        Some(Study::Throttling(args)) => throttling::run(session, args),
        Some(Study::Shares(args)) => shares::run(session, args),
        Some(Study::Variation(args)) => variation::run(session, args),
        Some(Study::Telecom(args)) => telecom::run(session, args),
        None if args.list => {
            out::write(&if args.json { listed_json()? } else { listed() })?;
            Ok(ExitCode::SUCCESS)
        }
        None => Err(anyhow!("no study is given")).hint(
            "name a file of yours (examples/studies has three), \
                             or a published one: `evenkeel study --list` names them",
        ),
    }
}

/// Each with what it asks and how it is made.
fn listed() -> String {
    SHIPPED
        .iter()
        .map(|study| format!("{:<12}{}\n{:12}evenkeel {}\n", study.name, study.question, "", study.command))
        .collect()
}

fn listed_json() -> Result<String> {
    let study = |study: &Shipped| json!({ "name": study.name, "question": study.question, "command": format!("evenkeel {}", study.command) });
    Ok(format!("{}\n", serde_json::to_string_pretty(&SHIPPED.iter().map(study).collect::<Vec<_>>())?))
}

/// Whoever mistypes the name of a shipped study has named a file that is not there.
fn check_name(file: &Path) -> Result<()> {
    if file.exists() {
        return Ok(());
    }
    let missing = || anyhow!("there is neither a study nor a file {}", file.display());
    let names = SHIPPED.iter().map(|study| study.name);
    let word = file.to_str().unwrap_or_default();
    match similar(word, names).first().and_then(|near| SHIPPED.iter().find(|study| study.name == *near)) {
        Some(near) => Err(missing()).hint(format!(
            "did you mean {}? It is `evenkeel {}`; `evenkeel study --list` names all",
            near.name, near.command
        )),
        None => Err(missing())
            .hint("name a file of yours, or a shipped study: `evenkeel study --list` names them"),
    }
}
