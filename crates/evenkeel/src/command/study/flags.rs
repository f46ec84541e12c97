//! Flags of `evenkeel study`.

use clap::value_parser;
use std::path::PathBuf;

/// What `evenkeel study` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel study --list
      the published studies
  evenkeel study throttling --list
      the settings of one, with their defaults
  evenkeel study throttling --quick
      a published study, in short
  evenkeel study throttling clients=1,4,16,64,256 duration=30s --repeats 5
  evenkeel study variation --quick
      why a profile varies: from run to run, from start to start, from server to server
  evenkeel study examples/studies/setting.toml
      a study of your own: does a setting matter? the file says what to change, and how often to repeat
  evenkeel study --resume last
      continue a stopped study

Exit codes: 0 done; 2 wrong use, no server, or one that refuses a statement; 130, 143 stopped by Ctrl-C, SIGTERM: \
finished runs are kept (continue with --resume). A study of a file also has, like a profile, 1 most requests of a rate \
failed, 3 no bound is known.")]
pub struct Args {
    /// A published study (--list names them), or a file of your own: factors and their levels, the workload, and what is compared;
    /// examples/studies shows every key
    #[arg(value_name = "NAME|FILE")]
    pub study: Option<String>,
    /// Settings of a published study, as clients=4,16 or duet=yes; NAME --list shows them
    #[arg(value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
    /// Name the published studies; after a NAME, its settings
    #[arg(long, conflicts_with_all = ["settings", "quick", "name", "repeats", "output", "json"])]
    pub list: bool,
    /// A short version of a published study
    #[arg(long)]
    pub quick: bool,
    /// Continue a stopped study: its folder, its name or a prefix of it, or `last`
    #[arg(long, value_name = "STUDY")]
    pub resume: Option<String>,
    /// Name of the study, as `compare`, `report` and other commands take it [default: time and kind of study]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Runs of each point of a published study; with --resume of a study of a file: raise its runs of each cell to N
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1_000))]
    pub repeats: Option<u32>,
    /// Folder for studies [default: HOME/runs]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Findings as JSON
    #[arg(long)]
    pub json: bool,
}
