//! `evenkeel cdr`: call records.

mod audit;
mod audited;
mod convert;
mod dispatch;
mod export;
mod generate;
mod layout;
mod load;
mod moved;
mod retire;
mod server;
mod streams;
mod tables;
mod told;
mod watch;
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
    /// Files held against tables: each record is stored once or refused once, or it is named
    Audit(audit::Args),
    /// Tables as delimited files, as of one instant, with checksums beside them
    Export(export::Args),
    /// Records become rows of a database, each once: straight from the files, with a manifest of what is in
    Load(Box<load::Args>),
    /// Each file that appears in a folder is loaded and dispatched, and old day tables are dropped: the daily job
    Watch(Box<watch::Args>),
}

/// Does what was asked.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    match &args.what {
        What::Generate(args) => generate::run(session, args),
        What::Convert(args) => convert::run(session, args),
        What::Layout(args) => layout::run(session, args),
        What::Dispatch(args) => dispatch::run(session, args),
        What::Retire(args) => retire::run(session, args),
        What::Audit(args) => audit::run(session, args),
        What::Export(args) => export::run(session, args),
        What::Load(args) => load::run(session, args),
        What::Watch(args) => watch::run(session, args),
    }
}
