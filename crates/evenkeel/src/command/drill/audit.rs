//! `evenkeel drill audit`.

use super::write::target;
use crate::command::Session;
use crate::failure::FINDING;
use crate::{format, out};
use anyhow::Result;
use evenkeel_haul::ledger::{Account, Finding, Ledger, Write, audit};
use evenkeel_site::server::Control;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each write that a server acknowledged must be there once, in the order of its writer, and nothing that was never sent. A write without
an answer may be there or not: neither is wrong. Writes are named WRITER/NUMBER, as in the ledger.

Examples:
  evenkeel drill audit mysql://app@db2/drill --ledger failover.ledger
  evenkeel drill audit sandbox:restored/drill --ledger failover.ledger --json

Exit codes: 0 nothing is wrong; 1 something was found; 2 wrong use, or a table or file that cannot be read.")]
pub struct Args {
    /// The server that has to have the rows, with the database
    #[arg(value_name = "URL")]
    pub target: String,
    /// What `evenkeel drill write` kept
    #[arg(long, value_name = "FILE")]
    pub ledger: PathBuf,
    /// Print what was found as JSON
    #[arg(long)]
    pub json: bool,
}

/// Compares, and prints what is wrong.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let ledger = Ledger::read(&args.ledger)?;
    let target = target(session, &args.target)?;
    let account = audit(&mut Control::connect_until(&target, &session.stop)?, &ledger)?;
    out::answer(args.json, &account, || out::write(&text(&account)))?;
    Ok(if account.is_right() { ExitCode::SUCCESS } else { ExitCode::from(FINDING) })
}

/// What was found, then the counts.
pub(super) fn text(account: &Account) -> String {
    let found: String =
        account.found.iter().map(|(finding, count)| line(*finding, *count, account)).collect();
    let unknown = match account.unknown {
        0 => String::new(),
        unknown => format!(
            "; of {} without an answer {} are there",
            format::count(unknown),
            format::count(account.unknown_and_there)
        ),
    };
    let verdict = if account.is_right() { ": each is there once, in order" } else { "" };
    format!(
        "{found}{} acknowledged{verdict}{unknown}\n",
        format::counted(account.acknowledged as usize, "write")
    )
}

fn line(finding: Finding, count: u64, account: &Account) -> String {
    let what = match finding {
        Finding::Lost => "acknowledged and lost",
        Finding::Doubled => "there more than once",
        Finding::OutOfOrder => "out of order",
        Finding::StoredThoughRefused => "there although the server refused them",
        Finding::Altered => "there with another content",
        Finding::NeverSent => "there and never sent",
    };
    let named = account.named.get(&finding).map_or(&[][..], Vec::as_slice);
    let shown: Vec<String> = named.iter().take(10).map(Write::to_string).collect();
    let more = if count > shown.len() as u64 { ", ..." } else { "" };
    format!("{} {what}: {}{more}\n", format::count(count), shown.join(", "))
}
