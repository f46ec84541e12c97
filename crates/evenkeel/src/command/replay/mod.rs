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
use evenkeel_lab::replay::check::not_kept;
pub use flags::Args;
use std::process::ExitCode;

pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    if args.check {
        return check::run(session, args);
    }
    let (mut recording, summary) = source::opened(session, &args.log)?;
    let mut left = not_kept(&recording, summary.as_ref());
    if let Some(other) = &args.mix {
        let (other, summary) = source::opened(session, other)?;
        left += not_kept(&other, summary.as_ref());
        recording = recording.beside(other);
    }
    play::run(session, args, &recording, left)
}
