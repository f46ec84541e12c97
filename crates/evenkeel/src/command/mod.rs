//! The commands: flags and how each is done.

pub mod compare;
pub mod data;
pub mod doctor;
mod elsewhere;
pub mod explain;
pub mod export;
pub mod guard;
mod live;
pub mod load;
pub mod man;
pub mod place;
pub mod profile;
mod progress_events;
pub mod report;
mod resume;
pub mod runs;
pub mod sandbox;
pub mod sense;
pub mod servers;
pub mod share;
pub mod simulate;
mod spec;
mod stored;
pub mod study;

use crate::cli::{Cli, Command};
use crate::failure::WithHint;
use crate::table::Look;
use crate::{out, signals};
use anyhow::Result;
use evenkeel_os::stop::Stop;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

/// What every command gets.
pub struct Session {
    /// Folder for sandboxes and studies.
    pub home: PathBuf,
    /// Results and errors only.
    pub quiet: bool,
    /// Set by Ctrl-C and SIGTERM.
    pub stop: Stop,
}

impl Session {
    /// Folder for studies.
    pub fn runs_dir(&self, output: Option<&PathBuf>) -> PathBuf {
        output.cloned().unwrap_or_else(|| self.home.join("runs"))
    }

    /// Where published studies were kept before all studies had one folder.
    pub fn studies_before(&self) -> PathBuf {
        self.home.join("studies")
    }

    /// Folder for dumps of data that is reloaded.
    pub fn dumps_dir(&self) -> PathBuf {
        self.home.join("dumps")
    }
}

/// Does what was asked.
pub fn run(cli: Cli) -> Result<ExitCode> {
    // Neither needs a home: packages are made where nobody has one.
    match &cli.command {
        Command::Completions { shell } => {
            print_completions(*shell)?;
            return Ok(ExitCode::SUCCESS);
        }
        Command::Man(args) => return man::run(args),
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
        None => evenkeel_site::sandbox::default_home().hint("name a folder by --home or EVENKEEL_HOME")?,
    };
    let session = Session { home, quiet: cli.quiet, stop: signals::stop_on(is_service)? };
    match cli.command {
        Command::Profile(args) => profile::run(&session, &args),
        Command::Sandbox(args) => sandbox::run(&session, &args),
        Command::Data(args) => data::run(&session, &args),
        Command::Load(args) => load::run(&session, &args),
        Command::Doctor(args) => doctor::run(&session, &args),
        Command::Explain(args) => explain::run(&session, &args),
        Command::Guard(args) => guard::run(&session, &args),
        Command::Share(args) => share::run(&session, &args),
        Command::Study(args) => study::run(&session, &args),
        Command::Runs(args) => runs::run(&session, &args),
        Command::Compare(args) => compare::run(&session, &args),
        Command::Report(args) => report::run(&session, &args),
        Command::Export(args) => export::run(&session, &args),
        Command::Sense(args) => sense::run(&session, &args),
        Command::Simulate(args) => simulate::run(&session, &args),
        Command::Completions { .. } | Command::Man(_) => Ok(ExitCode::SUCCESS),
    }
}

/// What standard output can show.
pub fn look() -> Look {
    let terminal = std::io::stdout().is_terminal();
    let width = if terminal { console_width() } else { WIDE };
    Look { width, colour: terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) }
}

/// What the error stream can show.
pub fn look_at_errors() -> Look {
    let colour = std::io::stderr().is_terminal();
    Look { width: WIDE, colour: colour && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) }
}

/// Where nobody looks at a terminal, no column is dropped.
const WIDE: usize = 200;

fn console_width() -> usize {
    console_size().0
}

/// Columns and rows of the terminal; 80 and 24 where nobody says.
fn console_size() -> (usize, usize) {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCGWINSZ writes one winsize to the address given.
    let told = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) } == 0;
    let told = told && size.ws_col > 0 && size.ws_row > 0;
    if told { (usize::from(size.ws_col), usize::from(size.ws_row)) } else { (80, 24) }
}

fn print_completions(shell: clap_complete::Shell) -> Result<()> {
    use clap::CommandFactory;
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "evenkeel", &mut script);
    Ok(out::raw(&String::from_utf8_lossy(&script))?)
}
