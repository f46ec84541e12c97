//! `evenkeel drill`: recovery and failover, done for real.

mod audit;
mod check;
mod common;
mod failover;
mod from;
mod recover;
mod write;

use super::Session;
use anyhow::Result;
use std::process::ExitCode;

/// Flags of `evenkeel drill`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Rehearse a recovery on private servers: backup under load, kill, restore, binary logs, comparison
    Recover(recover::Args),
    /// Make a failover on private servers: fault, promotion, what it cost and what it lost
    Failover(failover::Args),
    /// Find settings, tables and accounts that make recovery or failover unsafe
    Check(check::Args),
    /// Write numbered rows, and keep a ledger of what the server acknowledged
    Write(write::Args),
    /// Compare a ledger with its table: lost, doubled, out of order
    Audit(audit::Args),
}

/// Does what was asked.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    match &args.what {
        What::Recover(args) => match &args.from {
            Some(backup) => from::run(session, args, backup),
            None => recover::run(session, args),
        },
        What::Failover(args) => failover::run(session, args),
        What::Check(args) => check::run(session, args),
        What::Write(args) => write::run(session, args),
        What::Audit(args) => audit::run(session, args),
    }
}
