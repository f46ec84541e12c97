//! Flags of `evenkeel cdr watch`.

use super::super::convert::{DUPLICATES, one_of};
use super::super::load::{WARNINGS, max_rejects, part_bytes};
use super::super::server;
use evenkeel_haul::convert::Duplicates;
use evenkeel_haul::load::{MaxRejects, Warnings};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel cdr watch incoming mysql://app@db1/calls --layout calls.toml --table calls --by start
  evenkeel cdr watch incoming mysql://app@db1/calls --layout calls.toml --table calls --by start --keep 90d \\
      --metrics 127.0.0.1:9305
  evenkeel cdr watch incoming mysql://app@db1/calls --layout calls.toml --table calls --by start --pattern '*.cdr*' \\
      --done archive --json
  evenkeel cdr watch incoming sandbox:demo --layout calls.toml --table calls --by start --once --settle 0s

Each file that appears is loaded and audited (`cdr load`), its records go to day tables (`cdr dispatch`), and with --keep old day tables
are dropped (`cdr retire`): one file after the other, by name. A file is taken once it has not changed for --settle. Names that begin
with a dot or end with .part or .tmp are ignored. The database knows what is done, so that a restart, also after a kill, continues.

If the audit finds something, FILE.audit in the folder of rejects names it, and nothing is dispatched until you remove that file.

A file that cannot be loaded, or of which every record is refused, is named once and left where it is. A server that is down is waited for.

Exit codes: with --once 0 done, 1 a file was refused or not moved, an audit found something, or records stay in the source; 2 wrong use,
or no file can be processed; 130, 143 stopped by Ctrl-C, SIGTERM.")]
pub struct Args {
    /// Folder in which files appear
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Server, as mysql://user@host:port/database, sandbox:NAME or sandbox:NAME/DATABASE (default there: cdr)
    #[arg(value_name = "URL")]
    pub target: String,
    #[command(flatten)]
    pub job: JobFlags,
    /// Pattern of the file names
    #[arg(long, value_name = "PATTERN", default_value = "*")]
    pub pattern: String,
    /// How long a file must be unchanged before it is taken
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub settle: String,
    /// Process the files that are there, then exit
    #[arg(long)]
    pub once: bool,
    /// How long to wait for a server that is down [default: without limit]
    #[arg(long, value_name = "TIME")]
    pub wait: Option<String>,
    /// Folder for the rejects, a file for each input file [default: TABLE.rejected]
    #[arg(long, value_name = "DIR")]
    pub rejects: Option<PathBuf>,
    /// Folder on the same file system to move finished files to
    #[arg(long, value_name = "DIR")]
    pub done: Option<PathBuf>,
    /// Address to serve /metrics for Prometheus, as 127.0.0.1:9305
    #[arg(long, value_name = "ADDR")]
    pub metrics: Option<String>,
    /// Print a line of JSON for each file
    #[arg(long)]
    pub json: bool,
}

/// Flags that say what is done with a file.
#[derive(Debug, clap::Args)]
pub struct JobFlags {
    /// Layout of the records, as in `cdr convert --help`
    #[arg(long, short, value_name = "FILE")]
    pub layout: PathBuf,
    #[command(flatten)]
    pub table: server::Flags,
    /// The table's column that has the day: a DATE or DATETIME
    #[arg(long, value_name = "COLUMN")]
    pub by: String,
    /// Names of the day tables
    #[arg(long, value_name = "PATTERN", default_value = "{table}_{day}")]
    pub name: String,
    /// Dispatch nothing if the table has records of more days: some dates may be wrong
    #[arg(long, value_name = "N", default_value_t = 62)]
    pub max_days: usize,
    /// Days or weeks to keep, as 90d or 26w [default: all]
    #[arg(long, value_name = "TIME")]
    pub keep: Option<String>,
    /// Bytes of a file in one transaction, at least 1M; memory holds a few times as many
    #[arg(long, value_name = "SIZE", default_value = "32M", value_parser = part_bytes)]
    pub transaction: u64,
    /// What happens to a record that the server changes or refuses
    #[arg(long, value_name = "WHAT", default_value = "end", value_parser = one_of(WARNINGS))]
    pub warnings: Warnings,
    /// Rejects of a file, as a count or a share: with more of them it is set aside
    #[arg(long, value_name = "N|P%", default_value = "5%", value_parser = max_rejects)]
    pub max_rejects: MaxRejects,
    /// What happens to a record whose key came before in its file
    #[arg(long, value_name = "WHAT", default_value = "refuse", value_parser = one_of(DUPLICATES))]
    pub duplicates: Duplicates,
    /// Do not compare each file with its table after the load
    #[arg(long)]
    pub no_audit: bool,
}
