//! `evenkeel drill audit`.

use super::common::target;
use crate::command::Session;
use crate::failure::FINDING;
use crate::{format, out};
use anyhow::Result;
use evenkeel_haul::ledger::{Account, Finding, Ledger, Write, audit};
use evenkeel_site::server::Control;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every acknowledged write must be in the table exactly once, in the order of its writer, and nothing else. A write without an answer may
be there or not: neither is wrong. Writes are named WRITER/NUMBER, as in the ledger.

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
    let told = || out::write(&(text(&account) + &outage(&account)));
    out::answer(args.json, &account, told)?;
    Ok(if account.is_right() { ExitCode::SUCCESS } else { ExitCode::from(FINDING) })
}

/// What was found, then the counts.
pub(super) fn text(account: &Account) -> String {
    let found: String =
        account.found.iter().map(|(finding, count)| line(*finding, *count, account)).collect();
    let unknown = match account.unknown {
        0 => String::new(),
        unknown => format!(
            "; {} without an answer, {} of them stored",
            format::count(unknown),
            format::count(account.unknown_and_there)
        ),
    };
    let verdict = match account.acknowledged {
        0 => ": there is nothing to compare",
        _ if account.is_right() => ": each is there once, in order",
        _ => "",
    };
    format!(
        "{found}{} acknowledged{verdict}{unknown}\n",
        format::counted(account.acknowledged as usize, "write")
    )
}

/// How long nothing was acknowledged, and what failed.
fn outage(account: &Account) -> String {
    let errors = errors(&account.errors);
    let errors = if errors.is_empty() { errors } else { format!("; errors: {errors}") };
    format!("longest time without an acknowledged write: {:.3} s{errors}\n", account.outage_s)
}

/// What failed, by code.
pub(super) fn errors(errors: &BTreeMap<u16, u64>) -> String {
    let error = |(code, count): (&u16, &u64)| match code {
        0 => format!("{} without an answer", format::count(*count)),
        1290 => format!("{} of 1290 (read only)", format::count(*count)),
        code => format!("{} of {code}", format::count(*count)),
    };
    errors.iter().map(error).collect::<Vec<_>>().join(", ")
}

fn line(finding: Finding, count: u64, account: &Account) -> String {
    let what = match finding {
        Finding::Lost => "acknowledged and lost",
        Finding::Doubled => "stored more than once",
        Finding::OutOfOrder => "out of order",
        Finding::StoredThoughRefused => "stored although the server returned an error",
        Finding::Altered => "stored with other content",
        Finding::NeverSent => "stored and never sent",
    };
    let named = account.named.get(&finding).map_or(&[][..], Vec::as_slice);
    let shown: Vec<String> = named.iter().take(10).map(Write::to_string).collect();
    let more = if count > shown.len() as u64 { ", ..." } else { "" };
    format!("{} {what}: {}{more}\n", format::count(count), shown.join(", "))
}
