//! `evenkeel share top`: a host and those that it hears, live.

use super::super::Session;
use crate::share::status::read;
use crate::share::top::History;
use crate::view::live;
use anyhow::Result;
use std::process::ExitCode;

/// Flags of `evenkeel share top`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel share top 127.0.0.1:9308
  evenkeel share top 127.0.0.1:9308 --once")]
pub struct TopArgs {
    /// Address at which the host serves its metrics
    address: String,
    #[command(flatten)]
    live: live::LiveFlags,
}

/// Draws until q or Ctrl-C.
pub fn run(session: &Session, args: &TopArgs) -> Result<ExitCode> {
    let mut history = History::default();
    let address = args.address.clone();
    live::show(session, &args.live, &mut history, move || read(&address), History::push, History::draw)
}
