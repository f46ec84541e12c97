//! `evenkeel cdr`: call records.

mod convert;
mod generate;
mod layout;
mod streams;
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
}

/// Does what was asked.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    match &args.what {
        What::Generate(args) => generate::run(session, args),
        What::Convert(args) => convert::run(session, args),
        What::Layout(args) => layout::run(session, args),
    }
}
