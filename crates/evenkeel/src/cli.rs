//! The command line.

use crate::command::{
    data, explain, export, guard, load, profile, report, runs, sandbox, sense, share, simulate, study,
};
use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// Finds the load that a MySQL or MariaDB server carries, and says how far that figure can be trusted.
#[derive(Debug, Parser)]
#[command(name = "evenkeel", version, max_term_width = 100, after_help = EXAMPLES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Folder for sandboxes and studies [default: $EVENKEEL_HOME, $XDG_STATE_HOME/evenkeel or
    /// ~/.local/state/evenkeel]
    #[arg(long, global = true, value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// Say less: no progress, only results and errors
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  evenkeel profile                            profile a private MariaDB with TPC-W data
  evenkeel profile mysql://bench@db1/tpcw --workload tpcw.complex --rate auto:8 --repeats 20
  evenkeel report last                        the last study as one HTML file
  evenkeel sandbox up demo --ebs 10           a private server with data, kept running
  evenkeel explain sandbox:demo --workload tpcw.shopping

Exit codes: 0 done; 1 a finding (most requests failed, the server refuses a statement, a study
is damaged, a simulation broke an expectation); 2 wrong use, configuration or surroundings; 3
no figure stands (a profile without any bound, a run whose generator failed); 130, 143, 129 stopped before the end by Ctrl-C, SIGTERM, SIGHUP.
What runs until it is told to stop (guard, share disk, share mount, top) ends by 0 then. A
second signal ends it at once, by the signal's code.";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Sweep the arrival rate on a server: response, percentiles, CPU, and how far to trust them
    Profile(Box<profile::Args>),
    /// Private servers: up, down, list, shell, logs, clean
    Sandbox(sandbox::Args),
    /// Data of TPC-W and DVD Store on any server: fill, check, reload
    Data(data::Args),
    /// One run of load: open at a rate or along a ramp, or closed clients with think time
    Load(load::Args),
    /// Classify the statements of a workload by their plans and name the heavy hitters
    Explain(explain::Args),
    /// A proxy that keeps a server at its peak: run it, watch it, replay its decisions
    Guard(Box<guard::Args>),
    /// Virtual disks by which hosts get their share of common storage
    Share(share::Args),
    /// A published study, made again here: its finding beside ours
    Study(study::Args),
    /// List what was measured
    Runs(runs::Args),
    /// Write a study as one self-contained HTML file
    Report(report::Args),
    /// Write a study as CSV or JSON
    Export(export::Args),
    /// Try a controller of the guard on the virtual clock: scenarios, random plants, steps
    Simulate(simulate::Args),
    /// Say what this machine does, a line for each reading: for a profile that runs on another one
    Sense(sense::Args),
    /// Print shell completions
    Completions {
        /// Shell
        shell: clap_complete::Shell,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_flag_has_help_and_no_two_collide() {
        let command = Cli::command();
        command.clone().debug_assert();
        check(&command);
    }

    fn check(command: &clap::Command) {
        for argument in command.get_arguments() {
            assert!(argument.get_help().is_some(), "{} {}", command.get_name(), argument.get_id());
        }
        command.get_subcommands().for_each(check);
    }
}
