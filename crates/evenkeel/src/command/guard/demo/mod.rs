//! `evenkeel guard demo`: a flash sale on a private server, first without a guard, then with one.

mod flags;
mod play;
mod stage;

use crate::command::{Session, console_size};
use crate::guard::show::{self, Show};
use crate::out;
use crate::signals;
use crate::view::picture::Frame;
use anyhow::Result;
use std::process::ExitCode;

pub use flags::DemoArgs;

/// The picture that stays in the terminal is no higher.
const HEIGHT_MAX: usize = 24;

/// Plays, and leaves nothing behind.
///
/// # Errors
/// No server can be started, or the guard ends.
pub fn run(session: &Session, args: &DemoArgs) -> Result<ExitCode> {
    // What a crash or a second Ctrl-C left.
    stage::remove(session)?;
    let played = stage::Stage::build(session, args).and_then(|stage| play::play(session, args, &stage));
    // The stage, with its server, is gone by now; its files go here, whatever happened.
    let removed = stage::remove(session);
    if session.stop.is_set() {
        removed?;
        out::tell("stopped; the server, the guard and their files are gone\n");
        return Ok(signals::exit_code());
    }
    let show = played?;
    removed?;
    tell(&show)?;
    Ok(ExitCode::SUCCESS)
}

fn tell(show: &Show) -> Result<()> {
    if flags::is_live() {
        let (width, height) = console_size();
        out::write(&show.chart(Frame { width, height: height.min(HEIGHT_MAX) }))?;
    }
    out::write(&format!("\n{}", show::summary(show)))?;
    Ok(())
}
