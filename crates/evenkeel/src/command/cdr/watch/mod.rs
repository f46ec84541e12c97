//! `evenkeel cdr watch`.

mod counts;
mod flags;
mod held;
mod job;
mod line;
mod passage;
mod round;
mod serve;
mod steps;

pub use flags::Args;

use crate::command::Session;
use crate::config::units;
use crate::failure::WithHint;
use crate::progress::{Mode, View};
use anyhow::{Context, Result};
use evenkeel_haul::watch::Folder;
use std::process::ExitCode;

/// Watches until it is stopped, or once.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let settle = units::duration(&args.settle).context("--settle")?;
    let wait = args.wait.as_deref().map(|text| units::positive(text, "--wait")).transpose()?;
    let folder = Folder::new(&args.folder, &args.pattern, settle)?;
    let layout = job::read_layout(&args.job)?;
    let target = super::server::target(session, &args.target)?;
    let chain = job::chain(session, args, &layout, &target)?;
    std::fs::create_dir_all(&chain.rejects)
        .with_context(|| format!("making the folder {} for rejects", chain.rejects.display()))
        .hint("name another folder by --rejects")?;
    // Shows nothing but that a statement waits for a lock of others.
    let _view = View::new(Mode::Lines);
    round::Watch::new(session, args, (chain, folder), wait)?.run()
}
