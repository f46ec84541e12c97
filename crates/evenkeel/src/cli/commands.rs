//! The commands, and who does each.

use super::{Cli, modes, short};
use crate::command::{
    Session, cdr, compare, data, doctor, explain, export, guard, layout, load, man, profile, relayout,
    report, runs, sandbox, sense, share, size, study, workload,
};
use crate::failure::WithHint;
use crate::{arguments, out, signals};
use anyhow::Result;
use clap::{CommandFactory, FromArgMatches, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// The commands, in the order in which the help lists them.
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
    /// Make a workload file of what a server was asked: from its slow log or its performance schema
    Workload(workload::Args),
    /// How the pages of tables and indexes lie in their files: fill, order, broken chains, a picture
    Layout(layout::Args),
    /// Build tables anew in the order of their keys: what it promises before, what it gained after
    Relayout(relayout::Args),
    /// A proxy that keeps a server at its peak: run it, watch it, replay its decisions
    Guard(Box<guard::Args>),
    /// Virtual disks by which hosts get their share of common storage
    Share(share::Args),
    /// Call records: make them, convert them, and say of each what became of it
    Cdr(cdr::Args),
    /// A published study, made again here: its finding beside ours
    Study(study::Args),
    /// List what was measured
    Runs(runs::Args),
    /// Two studies or cells: is the second better, worse or the same, and how many more runs would decide
    Compare(compare::Args),
    /// From a profile: how many servers a load needs, what they answer and what they cost
    Size(size::Args),
    /// Write a study as one self-contained HTML file
    Report(report::Args),
    /// Write a study as CSV or JSON
    Export(export::Args),
    /// Say what this machine allows, and what is lost without it
    Doctor(doctor::Args),
    /// Say what this machine does, a line for each reading: for a profile that runs on another one
    Sense(sense::Args),
    /// Print shell completions
    Completions {
        /// Shell that they are for
        shell: clap_complete::Shell,
    },
    /// Write the man pages, one for each command, for who makes a package
    #[command(hide = true)]
    Man(man::Args),
}

/// What this process was asked for.
///
/// # Errors
/// It asks for help, or is wrong: the exit code, with the text written.
pub fn parse() -> Result<Cli<Command>, ExitCode> {
    let given = short::short(modes::strict(Cli::<Command>::command())).try_get_matches();
    given.and_then(|mut given| Cli::from_arg_matches_mut(&mut given)).map_err(|error| {
        let error = modes::explained(error);
        let text = error.render().to_string();
        // Colours are clap's; a password that was given in a wrong place is nobody's.
        match arguments::masked(text.as_str().into()) == text {
            true => drop(error.print()),
            false => out::tell(&text),
        }
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
    })
}

/// Does what was asked.
pub fn run(cli: Cli<Command>) -> Result<ExitCode> {
    // Neither needs a home: packages are made where nobody has one.
    match &cli.command {
        Command::Completions { shell } => {
            print_completions(*shell)?;
            return Ok(ExitCode::SUCCESS);
        }
        Command::Man(args) => return man::run(args, Cli::<Command>::command()),
        _ => {}
    }
    // A service reads its configuration again at SIGHUP, and keeps nothing in a home: a service may have none.
    let is_service = match &cli.command {
        Command::Guard(args) => args.is_a_guard(),
        Command::Share(args) => args.is_a_service(),
        _ => false,
    };
    let home = match cli.home {
        Some(home) => home,
        None if is_service || matches!(cli.command, Command::Sense(_) | Command::Doctor(_)) => PathBuf::new(),
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
        Command::Explain(args) => explain::run(&session, &args),
        Command::Workload(args) => workload::run(&session, &args),
        Command::Layout(args) => layout::run(&session, &args),
        Command::Relayout(args) => relayout::run(&session, &args),
        Command::Guard(args) => guard::run(&session, &args),
        Command::Share(args) => share::run(&session, &args),
        Command::Study(args) => study::run(&session, &args),
        Command::Runs(args) => runs::run(&session, &args),
        Command::Compare(args) => compare::run(&session, &args),
        Command::Size(args) => size::run(&session, &args),
        Command::Report(args) => report::run(&session, &args),
        Command::Export(args) => export::run(&session, &args),
        Command::Sense(args) => sense::run(&session, &args),
        Command::Completions { .. } | Command::Man(_) => Ok(ExitCode::SUCCESS),
    }
}

fn print_completions(shell: clap_complete::Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::<Command>::command(), "evenkeel", &mut script);
    Ok(out::raw(&String::from_utf8_lossy(&script))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_has_help_and_no_two_collide() {
        let command = modes::strict(Cli::<Command>::command());
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
