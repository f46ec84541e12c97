//! `evenkeel replay`.
mod check;
mod flags;
mod lines;
mod play;
mod source;

use super::Session;
use anyhow::Result;
pub use flags::Args;
use std::process::ExitCode;

pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    if args.check {
        return check::run(session, args);
    }
    play::run(session, args, &source::opened(session, &args.log)?.0)
}
