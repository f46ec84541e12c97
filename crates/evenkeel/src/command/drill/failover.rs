//! `evenkeel drill failover`.

use super::audit;
use crate::command::{Session, mode};
use crate::config::units;
use crate::failure::FINDING;
use crate::progress::{ProgressEvent, View};
use crate::{format, out};
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_haul::failover::{Failover, Fault, Mode, Report};
use evenkeel_haul::ledger::Write;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
On private servers: a primary with replicas (GTID), writers that know all of them, and a fault. A primary that takes no write three times
in a row has failed. The replica that has received the most transactions applies all of them and becomes the primary. The writers' ledger
shows the outage and the lost writes. At last the old primary comes back as a replica; writes that only it has are listed.

  stop    clean shutdown (SIGTERM)
  kill    kill -9
  freeze  the process is stopped with its connections open (SIGSTOP)
  cut     the network is cut: packets are dropped without an error (a network namespace; needs root)
  full    the disk is full (a disk in a file; needs root)
  lag     replicas receive nothing for 1 s, then kill -9
  slow    replicas receive everything and apply nothing for 1 s, then kill -9

Examples:
  evenkeel drill failover
  evenkeel drill failover --mode after-sync --fault lag --repeat 5 --json
  evenkeel drill failover --promote '/usr/local/bin/our-failover \"$@\"'

Exit codes: 0 no acknowledged write is lost or doubled; 1 one is, or the outage is longer than --rto; 2 wrong use, or a step that cannot
be done; 130, 143 stopped by Ctrl-C, SIGTERM (nothing stays).")]
pub struct Args {
    /// What happens to the primary: stop, kill, freeze, cut, full, lag or slow
    #[arg(long, value_name = "WHAT", default_value = "kill", value_parser = fault)]
    pub fault: Fault,
    /// How a commit waits for replicas: async, after-sync or after-commit (semi-synchronous)
    #[arg(long, value_name = "HOW", default_value = "async", value_parser = replication)]
    pub mode: Mode,
    /// Replicas
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4))]
    pub replicas: u32,
    /// Longest outage that is allowed
    #[arg(long, value_name = "TIME")]
    pub rto: Option<String>,
    /// Shell command that promotes a replica, instead of ours; $1, $2 ... are option files of the replicas (mariadb --defaults-file)
    #[arg(long, value_name = "COMMAND")]
    pub promote: Option<String>,
    /// Shell command to run before the servers are removed; $1 is the option file of the new primary, $2 that of the old
    /// one, $3 the ledger
    #[arg(long, value_name = "COMMAND")]
    pub then: Option<String>,
    /// Failovers, one after the other, each at another instant
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
    /// Writes per second
    #[arg(long, value_name = "N", default_value_t = 200.0)]
    pub rate: f64,
    /// Server program [default: the one that is installed]
    #[arg(long, value_name = "FILE")]
    pub server_binary: Option<PathBuf>,
    /// Seed of writes and instants
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Print what came of each as JSON
    #[arg(long)]
    pub json: bool,
}

fn fault(text: &str) -> Result<Fault, String> {
    let known = Fault::ALL.into_iter().find(|fault| fault.word() == text);
    known.ok_or_else(|| "write stop, kill, freeze, cut, full, lag or slow".to_owned())
}

fn replication(text: &str) -> Result<Mode, String> {
    let known = Mode::ALL.into_iter().find(|mode| mode.word() == text);
    known.ok_or_else(|| "write async, after-sync or after-commit".to_owned())
}

/// Makes one failover after the other, and says what each came to.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let rto = args.rto.as_deref().map(|text| units::positive(text, "--rto")).transpose()?;
    let mut reports = Vec::new();
    for number in 0..args.repeat {
        let drill = Failover {
            home: &session.home,
            server_binary: args.server_binary.clone(),
            replicas: args.replicas,
            mode: args.mode,
            fault: args.fault,
            promote: args.promote.clone(),
            then: args.then.clone(),
            rate: args.rate,
            seed: Seed(args.seed).numbered(number.into()),
            stop: &session.stop,
        };
        let mut view = View::new(mode(session, args.json));
        let report = drill.run(&mut |text| view.show(&ProgressEvent::Step { text: text.to_owned() }))?;
        drop(view);
        if !args.json {
            out::write(&text(&report, rto))?;
        }
        reports.push(report);
    }
    if args.json {
        out::line(serde_json::to_string_pretty(&reports)?)?;
    }
    let is_right = |report: &Report| report.account.is_right() && !is_late(report, rto);
    Ok(if reports.iter().all(is_right) { ExitCode::SUCCESS } else { ExitCode::from(FINDING) })
}

fn is_late(report: &Report, rto: Option<Nanos>) -> bool {
    rto.is_some_and(|rto| report.timeline.outage_s().is_none_or(|outage| outage > rto.as_secs_f64()))
}

/// The timeline, the account, and the old primary.
fn text(report: &Report, rto: Option<Nanos>) -> String {
    let timeline = &report.timeline;
    let line =
        |what: &str, at: Option<f64>| at.map_or_else(String::new, |at| format!("  {what:<15}{at:+.3} s\n"));
    let mut text = "after the fault\n".to_owned();
    text += &line("last success", timeline.last_success_s);
    text += &line("first error", timeline.first_error_s);
    text += &line("detected", Some(timeline.detected_s));
    text += &line("promoted", Some(timeline.promoted_s));
    text += &line("first success", timeline.first_success_s);
    if let Some(outage) = timeline.outage_s() {
        text += &format!(
            "no write for {outage:.3} s; the replica was {} behind\n",
            format::counted(report.behind as usize, "transaction")
        );
    }
    let errors = audit::errors(&report.account.errors);
    if !errors.is_empty() {
        text += &format!("errors: {errors}\n");
    }
    text += &audit::text(&report.account);
    text += &returned(report);
    if is_late(report, rto) {
        text += "WRONG: no write succeeded for longer than --rto\n";
    }
    text
}

/// What became of the old primary.
fn returned(report: &Report) -> String {
    let shown: Vec<String> = report.extra.iter().take(10).map(Write::to_string).collect();
    let extra = match report.extra.len() {
        0 => "the old primary has nothing that the new one lacks".to_owned(),
        count => format!(
            "only the old primary has {} ({}{}), {} of them acknowledged",
            format::counted(count, "write"),
            shown.join(", "),
            if count > shown.len() { ", ..." } else { "" },
            format::count(report.extra_acknowledged as u64)
        ),
    };
    let follows = match &report.does_not_follow {
        None => "; it follows the new one".to_owned(),
        Some(why) => format!("; it cannot follow, and has to be built anew: {why}"),
    };
    format!("{extra}{follows}\n")
}
