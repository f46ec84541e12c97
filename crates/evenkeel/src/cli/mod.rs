//! The command line: what stands on it, and who does what it asks for.

mod commands;
pub mod modes;

use clap::{Parser, Subcommand};
#[cfg(test)]
pub use commands::Command;
pub use commands::{parse, run};
use std::path::PathBuf;

/// Finds the load that a MySQL or MariaDB server carries, and says how far that figure can be trusted.
#[derive(Debug, Parser)]
#[command(name = "evenkeel", version, max_term_width = 100, after_help = EXAMPLES)]
pub struct Cli<C: Subcommand> {
    /// What to do, one of the commands `C`.
    #[command(subcommand)]
    pub command: C,
    /// Folder for sandboxes and studies [default: $EVENKEEL_HOME, $XDG_STATE_HOME/evenkeel or
    /// ~/.local/state/evenkeel]
    #[arg(long, global = true, value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// Say less: no progress, only results and errors
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

/// What to do first, for whoever does not know yet what to ask for.
pub const FIRST_STEPS: &str = "\
Evenkeel finds the load that a MySQL or MariaDB server carries, and keeps it there. What do you want to do?

Size a server
  evenkeel profile                                  try it on a private server: ten minutes, nothing to set up
  evenkeel profile mysql://user@db1/shop -w orders.toml     yours, with the statements of its users
  evenkeel study examples/studies/setting.toml      does a setting, a version or an index matter?

Protect a server
  evenkeel guard demo                               a flash sale, without and with a guard: two minutes
  evenkeel guard --listen 127.0.0.1:3307 --backend 127.0.0.1:3306 --dry-run     beside yours, no limit

Share a disk between hosts
  evenkeel share knee --backing /dev/sdb --direct   the latency at which the storage is full
  evenkeel share disk --backing /dev/sdb --share 4 --name web1 --nbd /run/web1.sock --bus slot:/shared/slots

evenkeel doctor says what this machine allows, evenkeel --help names every command.
";

const EXAMPLES: &str = "\
Examples:
  evenkeel profile                            profile a private MariaDB with TPC-W data
  evenkeel profile mysql://bench@db1/tpcw --workload tpcw.complex --rate auto:8 --repeats 20
  evenkeel report last                        the last study as one HTML file
  evenkeel sandbox up demo --ebs 10           a private server with data, kept running
  evenkeel explain sandbox:demo --workload tpcw.shopping

Exit codes: 0 done; 1 a finding (most requests failed or none was answered, the server refuses a statement, a list
of studies has a damaged one); 2 wrong use, configuration or surroundings, also a study
that cannot be read; 3
no valid figure (a profile without any bound, a run whose generator failed); 130, 143, 129 stopped before the end by Ctrl-C, SIGTERM, SIGHUP.
What runs until it is stopped (guard, share disk, share mount, top) ends by 0 then. A
second signal ends it at once, by the signal's code.";

/// What is said of it, in the place of the parser's own words.
pub fn whole_number(text: &str, instead: &str) -> String {
    ["invalid digit found in string", "cannot parse integer from empty string"]
        .iter()
        .fold(text.to_owned(), |text, of_parser| text.replace(of_parser, instead))
}
