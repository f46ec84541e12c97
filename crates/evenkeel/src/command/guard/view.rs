//! `evenkeel guard top`.

use super::super::Session;
use crate::guard::show::read;
use crate::guard::top::History;
use crate::view::live;
use crate::view::live::LiveFlags;
use anyhow::Result;
use std::process::ExitCode;

/// Flags of `evenkeel guard top`.
#[derive(Debug, clap::Args)]
pub struct TopArgs {
    /// Address at which the guard serves its metrics
    #[arg(value_name = "ADDRESS", default_value = "127.0.0.1:9307")]
    address: String,
    /// How it is shown
    #[command(flatten)]
    live: LiveFlags,
}

/// Draws until q or Ctrl-C.
pub fn top(session: &Session, args: &TopArgs) -> Result<ExitCode> {
    let mut history = History::default();
    let address = args.address.clone();
    live::show(session, &args.live, &mut history, move || read(&address), History::push, History::draw)
}
