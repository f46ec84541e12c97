//! `evenkeel cdr`: call records.

mod audit;
mod convert;
mod dispatch;
mod export;
mod generate;
mod layout;
mod load;
mod retire;
mod server;
mod unload;
mod watch;

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
    /// Make synthetic records of a day, clean or with dirt
    Generate(generate::Args),
    /// Convert records to delimited lines
    Convert(convert::Args),
    /// Guess a layout from records
    Layout(layout::Args),
    /// Load records into a table, each once
    Load(Box<load::Args>),
    /// Take out again what files brought
    Unload(unload::Args),
    /// Move loaded records to a table for each day
    Dispatch(dispatch::Args),
    /// Drop day tables that are too old
    Retire(retire::Args),
    /// Load and dispatch each file that appears in a folder
    Watch(Box<watch::Args>),
    /// Compare files with tables, record by record
    Audit(audit::Args),
    /// Export tables as delimited files of one snapshot, with checksums
    Export(export::Args),
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
        What::Unload(args) => unload::run(session, args),
        What::Watch(args) => watch::run(session, args),
    }
}
