//! `evenkeel guard demo`: a flash sale on a private server, first without a guard, then with one.

mod play;
mod stage;

use super::super::Session;
use crate::guard::show::{self, Show};
use crate::out;
use crate::signals;
use crate::view::picture::Frame;
use anyhow::Result;
use evenkeel_site::sandbox::{self, SandboxError};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

/// Flags of `evenkeel guard demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A private MariaDB is started and filled. Act 1: 8 clients buy, then 256, straight at the server.
Act 2: the same 256 through a guard. Server and guard listen at free ports of 127.0.0.1, and all is
removed at the end, also after Ctrl-C.

Examples:
  evenkeel guard demo
  evenkeel guard demo --clients 400 --seconds 30
  evenkeel guard demo --plain > demo.txt")]
pub struct DemoArgs {
    /// Clients that are too many
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(16..=450))]
    clients: u32,
    /// Seconds of each load; the guard's takes twice as long, and its figures are those of the second half
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(3..=600))]
    seconds: u32,
    /// Seed of who buys what
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// A line each second instead of a picture
    #[arg(long)]
    plain: bool,
    /// Another mariadbd than the system's
    #[arg(long, value_name = "PATH")]
    server_binary: Option<PathBuf>,
}

/// The private server's name; two demos in one home would be in each other's way.
const NAME: &str = "guard-demo";
/// The picture that stays in the terminal is no higher.
const HEIGHT_MAX: usize = 24;

/// Plays, and leaves nothing behind.
///
/// # Errors
/// No server can be started, or the guard ends.
pub fn run(session: &Session, args: &DemoArgs) -> Result<ExitCode> {
    // What a crash or a second Ctrl-C left.
    remove(session)?;
    let played = stage::Stage::build(session, args).and_then(|stage| play::play(session, args, &stage));
    // The stage, with its server, is gone by now; its files go here, whatever happened.
    let removed = remove(session);
    if session.stop.is_set() {
        removed?;
        out::tell("stopped; the server, the guard and their files are gone\n");
        return Ok(signals::exit_code());
    }
    let show = played?;
    removed?;
    tell(args, &show)?;
    Ok(ExitCode::SUCCESS)
}

/// The last picture and the summary.
fn tell(args: &DemoArgs, show: &Show) -> Result<()> {
    if is_live(args) {
        let (width, height) = super::super::console_size();
        out::write(&show.chart(Frame { width, height: height.min(HEIGHT_MAX) }))?;
    }
    out::write(&format!("\n{}", show::summary(show)))?;
    Ok(())
}

fn is_live(args: &DemoArgs) -> bool {
    !args.plain && std::io::stdout().is_terminal()
}

/// Removes the private server's files, where there are any.
fn remove(session: &Session) -> Result<()> {
    match sandbox::clean(&session.home, &[NAME.to_owned()]) {
        Ok(_) | Err(SandboxError::Unknown { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
