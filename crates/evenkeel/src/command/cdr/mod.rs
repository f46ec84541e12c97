//! `evenkeel cdr`: call records.

mod advise;
mod convert;
mod dispatch;
mod generate;
mod layout;
mod load;
mod moved;
mod retire;
mod server;
mod streams;
mod tables;
mod told;
mod whole;

use super::Session;
use anyhow::Result;
use std::process::ExitCode;

/// Flags of `evenkeel cdr`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Records of a day from a seed, clean or with dirt at stated rates
    Generate(generate::Args),
    /// Records of fixed width become delimited lines, or go back; what does not fit goes to a reject file
    Convert(convert::Args),
    /// Guesses a layout from the records themselves, to be mended by hand
    Layout(layout::Args),
    /// Loaded records move to a table for each day; a rerun after a kill neither loses nor doubles one
    Dispatch(dispatch::Args),
    /// Day tables that are too old are dropped
    Retire(retire::Args),
    /// Records become rows of a database, each once: straight from the files, with a manifest of what is in
    Load(Box<load::Args>),
    /// Which way of loading is the fastest here, what months of records take, and what a crash costs: measured on a sample
    Advise(advise::Args),
}

/// Does what was asked.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    match &args.what {
        What::Generate(args) => generate::run(session, args),
        What::Convert(args) => convert::run(session, args),
        What::Layout(args) => layout::run(session, args),
        What::Dispatch(args) => dispatch::run(session, args),
        What::Retire(args) => retire::run(session, args),
        What::Load(args) => load::run(session, args),
        What::Advise(args) => advise::run(session, args),
    }
}
