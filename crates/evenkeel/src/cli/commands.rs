//! The commands, and who does each.

use super::{Cli, modes, whole_number};
use crate::command::{
    Session, cdr, compare, data, doctor, drill, explain, export, guard, interfere, layout, load, man,
    profile, relayout, replay, report, runs, sandbox, sense, share, size, study, workload,
};
use crate::failure::WithHint;
use crate::{arguments, out, signals};
use anyhow::Result;
use clap::{CommandFactory, FromArgMatches, Subcommand};
use evenkeel_study::probe::machine;
use std::path::PathBuf;
use std::process::ExitCode;

/// The commands, in the order in which the help lists them.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure what load a server carries, its response times and CPU, and how far to trust these
    Profile(Box<profile::Args>),
    /// Private servers: up, down, list, shell, logs, clean
    Sandbox(sandbox::Args),
    /// Fill and check the data of TPC-W and DVD Store on any server
    Data(data::Args),
    /// One run of load: requests at a rate, or clients with think time
    Load(load::Args),
    /// Classify the statements of a workload by their plans, and name those that do most of the work
    Explain(explain::Args),
    /// Make a workload file from the slow log or the performance schema of a server
    Workload(workload::Args),
    /// Show the page layout of tables and indexes: fill, order, broken chains
    Layout(layout::Args),
    /// Rebuild tables in the order of their keys, with the predicted and the actual gain
    Relayout(relayout::Args),
    /// Keep a server at its peak throughput: by a proxy, or by a plugin inside the server
    Guard(Box<guard::Args>),
    /// Virtual disks that give each host its share of common storage
    Share(share::Args),
    /// Call records: generate, convert, load into day tables, and audit each one
    Cdr(cdr::Args),
    /// Send a recorded load again: to a candidate, and compare what it answers and how fast
    Replay(replay::Args),
    /// Prove that no acknowledged write is lost: numbered writes, compared after a failover or a recovery
    Drill(drill::Args),
    /// Run a study: one of your own from a file, or a published one, with its findings beside ours
    Study(study::Args),
    /// Find who slows whom down: jobs in two domains, each alone and beside each job of the other
    Interfere(interfere::Args),
    /// List the studies that were measured
    Runs(runs::Args),
    /// Compare two studies: is the second better, worse or the same?
    Compare(compare::Args),
    /// From a profile: how many servers a load needs, their response times and their cost
    Size(size::Args),
    /// Write a study as one self-contained HTML file
    Report(report::Args),
    /// Write a study as CSV or JSON
    Export(export::Args),
    /// Say what this machine allows, and what is lost without it
    Doctor(doctor::Args),
    /// Print readings of this machine, one a line, for a profile that runs on another machine
    Sense(sense::Args),
    /// Print shell completions
    Completions {
        /// Shell to complete for
        shell: clap_complete::Shell,
    },
    /// Write the man pages, one for each command, for packages
    #[command(hide = true)]
    Man(man::Args),
    /// Measure CPU, memory and caches in this process, which a study starts in a domain
    #[command(hide = true, name = machine::INSIDE)]
    ProbeInside {
        /// Of each measurement
        seconds: u32,
    },
}

/// What this process was asked for.
/// Errors: it asks for help, or is wrong: the exit code, with the text written.
pub fn parse() -> Result<Cli<Command>, ExitCode> {
    let given = modes::short(modes::filled(modes::strict(Cli::<Command>::command()))).try_get_matches();
    given.and_then(|mut given| Cli::from_arg_matches_mut(&mut given)).map_err(|error| {
        let error = modes::explained(error);
        let plain = error.render().to_string();
        let text = whole_number(&plain, "write a whole number, as 100000");
        // Colours are clap's; a password that was given in a wrong place is nobody's.
        match arguments::masked(text.as_str().into()) == plain {
            true => drop(error.print()),
            false => out::tell(&text),
        }
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
    })
}

/// Does what was asked.
pub fn run(cli: Cli<Command>) -> Result<ExitCode> {
    // A service reads its configuration again at SIGHUP, and keeps nothing in a home: a service may have none.
    let is_service = match &cli.command {
        Command::Guard(args) => args.is_a_guard(),
        Command::Share(args) => args.is_a_service(),
        _ => false,
    };
    // Packages are made where nobody has a home.
    let needs_none = matches!(
        cli.command,
        Command::Sense(_)
            | Command::Doctor(_)
            | Command::Completions { .. }
            | Command::Man(_)
            | Command::ProbeInside { .. }
    );
    let home = match cli.home {
        Some(home) => home,
        None if is_service || needs_none => PathBuf::new(),
        // Most of its commands need none; those that load a sandbox find it where the others do.
        None if matches!(cli.command, Command::Cdr(_)) => {
            evenkeel_site::sandbox::default_home().unwrap_or_default()
        }
        None => evenkeel_site::sandbox::default_home().hint("name a folder by --home or EVENKEEL_HOME")?,
    };
    let session = Session { home, quiet: cli.quiet, stop: signals::stop_on(is_service)? };
    match cli.command {
        Command::Profile(args) => profile::run(&session, &args),
        Command::Sandbox(args) => sandbox::run(&session, &args),
        Command::Data(args) => data::run(&session, &args),
        Command::Load(args) => load::run(&session, &args),
        Command::Doctor(args) => doctor::run(&session, &args),
        Command::Cdr(args) => cdr::run(&session, &args),
        Command::Replay(args) => replay::run(&session, &args),
        Command::Drill(args) => drill::run(&session, &args),
        Command::Explain(args) => explain::run(&session, &args),
        Command::Workload(args) => workload::run(&session, &args),
        Command::Layout(args) => layout::run(&session, &args),
        Command::Relayout(args) => relayout::run(&session, &args),
        Command::Guard(args) => guard::run(&session, &args),
        Command::Share(args) => share::run(&session, &args),
        Command::Study(args) => study::run(&session, &args),
        Command::Interfere(args) => interfere::run(&session, &args),
        Command::Runs(args) => runs::run(&session, &args),
        Command::Compare(args) => compare::run(&session, &args),
        Command::Size(args) => size::run(&session, &args),
        Command::Report(args) => report::run(&session, &args),
        Command::Export(args) => export::run(&session, &args),
        Command::Sense(args) => sense::run(&session, &args),
        Command::Completions { shell } => print_completions(shell),
        Command::Man(args) => man::run(&args, Cli::<Command>::command()),
        Command::ProbeInside { seconds } => {
            out::write(&serde_json::to_string(&machine::measure(seconds)?)?)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn print_completions(shell: clap_complete::Shell) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::<Command>::command(), "evenkeel", &mut script);
    out::raw(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_and_every_flag_has_help_and_no_two_collide() {
        let command = modes::strict(Cli::<Command>::command());
        command.clone().debug_assert();
        check(&command);
    }

    fn check(command: &clap::Command) {
        assert!(command.is_hide_set() || command.get_about().is_some(), "{}", command.get_name());
        for argument in command.get_arguments() {
            assert!(argument.get_help().is_some(), "{} {}", command.get_name(), argument.get_id());
        }
        command.get_subcommands().for_each(check);
    }
}
