//! Flags of `evenkeel cdr watch`.

use super::super::convert::DuplicatesWord;
use super::super::load::WarningsWord;
use super::super::tables;
use std::path::PathBuf;

/// Flags of `evenkeel cdr watch`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel cdr watch incoming mysql://app@db1/calls --layout calls.toml --table calls --by start
  evenkeel cdr watch incoming mysql://app@db1/calls --layout calls.toml --table calls --by start --keep 90d \\
      --metrics 127.0.0.1:9305
  evenkeel cdr watch incoming mysql://app@db1/calls --layout calls.toml --table calls --by start --pattern '*.cdr*' \\
      --done archive --set-aside bad --json
  evenkeel cdr watch incoming sandbox:demo --layout calls.toml --table calls --by start --once --settle 0s

Each file that appears is loaded as by `cdr load` and held against its table as by that, its records go to day tables as by `cdr dispatch`, and with --keep
day tables that are too old go as by `cdr retire`: a file after the other, by name, and a line for each. A file is taken
once it has not changed for --settle; names that begin with a dot or end with .part or .tmp are left alone. What is done
stands in the database (evenkeel_loads, evenkeel_dispatches), so that a restart, also after a kill, goes on where it was.

Where that audit finds a record that is not stored or refused once, FILE.audit in the folder of rejects names it, and nothing is
dispatched until that file is removed. --no-audit leaves the audit out.

A file that cannot be loaded is named once, left or set aside, never deleted, and the next one is taken. A server that is
away is waited for. Of two that watch for the same table one waits while the other goes through a file.

Exit codes: with --once 0 done, 1 a file was refused, an audit found something, or records stay in the source; 2 wrong use, or nothing can be done
as things are; 130, 143 stopped by Ctrl-C, SIGTERM.")]
pub struct Args {
    /// Folder in which files appear
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Server, as mysql://user@host:port/database, sandbox:NAME or sandbox:NAME/DATABASE (there: cdr, unless named)
    #[arg(value_name = "URL")]
    pub target: String,
    #[command(flatten)]
    pub job: JobFlags,
    /// Names of the files that are meant
    #[arg(long, value_name = "PATTERN", default_value = "*")]
    pub pattern: String,
    /// How long a file has to stay as it is before it is taken
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub settle: String,
    /// Take what is there and end
    #[arg(long)]
    pub once: bool,
    /// How long a server that is away is waited for; without it as long as it takes
    #[arg(long, value_name = "TIME")]
    pub wait: Option<String>,
    /// Folder for what is refused, with a file for each file that has rejects; TABLE.rejects, unless told otherwise
    #[arg(long, value_name = "DIR")]
    pub rejects: Option<PathBuf>,
    /// Folder of the same file system that files move to once they are done; without it they stay
    #[arg(long, value_name = "DIR")]
    pub done: Option<PathBuf>,
    /// Folder of the same file system that files move to which cannot be loaded; without it they stay
    #[arg(long, value_name = "DIR")]
    pub set_aside: Option<PathBuf>,
    /// Serve /metrics here for Prometheus, as 127.0.0.1:9305
    #[arg(long, value_name = "ADDR")]
    pub metrics: Option<String>,
    /// A line of JSON for each file
    #[arg(long)]
    pub json: bool,
}

/// Flags that say what is done with a file.
#[derive(Debug, clap::Args)]
pub struct JobFlags {
    /// Where the fields are, as of `cdr convert`
    #[arg(long, short, value_name = "FILE")]
    pub layout: PathBuf,
    #[command(flatten)]
    pub table: tables::Flags,
    /// The table's column that has the day: a DATE or DATETIME
    #[arg(long, value_name = "COLUMN")]
    pub by: String,
    /// Names of the day tables
    #[arg(long, value_name = "PATTERN", default_value = "{table}_{day}")]
    pub name: String,
    /// Table for records without a date; without it they stay
    #[arg(long, value_name = "TABLE")]
    pub null_day: Option<String>,
    /// Records that one transaction moves, about
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub batch: u64,
    /// Dispatch nothing of a table with records of more days: some dates may be wrong
    #[arg(long, value_name = "N", default_value_t = 62)]
    pub max_days: usize,
    /// Days or weeks whose tables stay, as 90d or 26w; without it all stay
    #[arg(long, value_name = "TIME")]
    pub keep: Option<String>,
    /// Bytes of a file in one transaction, at least a block of 1M; memory holds a few times as many
    #[arg(long, value_name = "SIZE", default_value = "32M")]
    pub transaction: String,
    /// What becomes of a record that the server does not store as it was sent
    #[arg(long, value_name = "WHAT", default_value = "end")]
    pub warnings: WarningsWord,
    /// What becomes of a record whose key and bytes came before in its file
    #[arg(long, value_name = "WHAT", default_value = "refuse")]
    pub duplicates: DuplicatesWord,
    /// Take records that end within their last field
    #[arg(long)]
    pub ragged: bool,
    /// Do not hold each file against its table once it is loaded
    #[arg(long)]
    pub no_audit: bool,
}
