//! `evenkeel drill write`.

use super::common;
use crate::command::{Session, mode};
use crate::config::units;
use crate::failure::FINDING;
use crate::progress::{ProgressEvent, View};
use crate::{format, out, signals};
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_haul::ledger::{Plan, Writing, Written};
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Rows go to the table evenkeel_ledger, which is recreated in the database that each URL names. A write is never sent twice: one whose
connection is lost before the answer is unknown, and its writer goes on at the next server that takes writes. Writes arrive at random
instants at this rate, whether or not the servers keep up. Meanwhile make the failover, the restart or the recovery that is to be
tested; then ask `evenkeel drill audit`.

Examples:
  evenkeel drill write mysql://app@db1/drill mysql://app@db2/drill --staging db1 --staging db2 --ledger failover.ledger --for 1m
  evenkeel drill audit mysql://app@db2/drill --ledger failover.ledger

Exit codes: 0 done; 1 no write was acknowledged; 2 wrong use, or a server that refuses; 130, 143 stopped by Ctrl-C, SIGTERM (the
ledger is complete up to then).")]
pub struct Args {
    /// Servers in the order in which they are tried, each with a database
    #[arg(value_name = "URL", required = true)]
    pub targets: Vec<String>,
    /// Host (@@hostname) of a server of yours that may be written to; may be repeated; sandboxes need none
    #[arg(long, value_name = "NAME")]
    pub staging: Vec<String>,
    /// File to make: what became of each write
    #[arg(long, value_name = "FILE")]
    pub ledger: PathBuf,
    /// Writes per second
    #[arg(long, value_name = "N", default_value_t = 200.0)]
    pub rate: f64,
    /// Connections
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub writers: u32,
    /// How long to write; until Ctrl-C if not given
    #[arg(long = "for", value_name = "TIME")]
    pub lasts: Option<String>,
    /// Longest wait for an answer; then the connection counts as lost
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub timeout: String,
    /// Seed of the arrivals
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Print the counts as JSON
    #[arg(long)]
    pub json: bool,
}

/// Writes until the time is over or somebody stops it.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let lasts = args.lasts.as_deref().map(|text| units::positive(text, "--for")).transpose()?;
    let plan = Plan {
        rate: args.rate,
        writers: args.writers,
        seed: Seed(args.seed),
        timeout: units::positive(&args.timeout, "--timeout")?.into(),
        ..common::plan(session, &args.targets, &args.staging)?
    };
    let writing = Writing::start(&plan, &args.ledger, &session.stop)?;
    let mut view = View::new(mode(session, args.json));
    let mut next = Nanos::ZERO;
    while !session.stop.is_set() && !writing.has_failed() && lasts.is_none_or(|lasts| writing.now() < lasts) {
        if writing.now() >= next {
            next += Nanos::from_secs(5);
            view.show(&ProgressEvent::Step { text: sentence(&writing.written()) });
        }
        thread::sleep(Duration::from_millis(50));
    }
    drop(view);
    let written = writing.end()?;
    let next = format!("compare: evenkeel drill audit URL --ledger {}", args.ledger.display());
    let done = format!("{}; {next}\n", sentence(&written));
    out::answer(args.json, &written, || out::write(&done))?;
    Ok(match (session.stop.is_set(), written.acknowledged) {
        (true, _) => signals::exit_code(),
        (false, 0) => ExitCode::from(FINDING),
        (false, _) => ExitCode::SUCCESS,
    })
}

fn sentence(written: &Written) -> String {
    let Written { sent, acknowledged, refused, unknown, .. } = *written;
    let more = |count: u64, what: &str| match count {
        0 => String::new(),
        count => format!(", {} {what}", format::count(count)),
    };
    format!(
        "{} sent, {} acknowledged{}{}",
        format::counted(sent as usize, "write"),
        format::count(acknowledged),
        more(refused, "refused"),
        more(unknown, "without an answer")
    )
}
