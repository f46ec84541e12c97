//! `evenkeel guard demo`: a flash sale on a private server, first without a guard, then with one.

mod flags;
mod play;

use crate::command::Session;
use crate::guard::show;
use crate::out;
use crate::signals;
use anyhow::Result;
use std::process::ExitCode;

pub use flags::DemoArgs;

/// Plays, and leaves nothing behind.
///
/// # Errors
/// No server can be started, or the guard ends.
pub fn run(session: &Session, args: &DemoArgs) -> Result<ExitCode> {
    // What a crash or a second Ctrl-C left.
    play::remove(session)?;
    let played = play::Stage::build(session, args).and_then(|stage| play::play(session, args, &stage));
    // The stage, with its server, is gone by now; its files go here, whatever happened.
    let removed = play::remove(session);
    if session.stop.is_set() {
        removed?;
        out::tell("stopped; the server, the guard and their files are gone\n");
        return Ok(signals::exit_code());
    }
    let acts = played?;
    removed?;
    out::write(&format!("\n{}", show::summary(&acts)))?;
    Ok(ExitCode::SUCCESS)
}
