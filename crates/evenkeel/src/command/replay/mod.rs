//! `evenkeel replay`.
mod check;
mod flags;
mod lines;
mod past;
mod play;
mod settings;
mod source;

use super::Session;
use anyhow::Result;
pub use flags::Args;
use std::process::ExitCode;

pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    if args.check {
        return check::run(session, args);
    }
    let (mut recording, _) = source::opened(session, &args.log)?;
    if let Some(other) = &args.mix {
        recording = recording.beside(source::opened(session, other)?.0);
    }
    play::run(session, args, &recording)
}
