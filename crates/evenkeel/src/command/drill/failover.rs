//! `evenkeel drill failover`.

use super::common::shown;
use super::{audit, common};
use crate::command::Session;
use crate::config::units;
use crate::failure::FINDING;
use crate::{format, out};
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_haul::failover::{Failover, Fault, Made, Mode, Reach, Report, Watch};
use evenkeel_haul::ledger::{Plan, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
On private servers: a primary with replicas (GTID), writers, and a fault. A primary that takes no write three times
in a row has failed. The replica that has received the most transactions applies all of them and becomes the primary. The writers' ledger
shows the outage and the lost writes. At last the old primary comes back as a replica; writes that only it has are listed.

  stop    clean shutdown (SIGTERM)
  kill    kill -9
  freeze  the process is stopped with its connections open (SIGSTOP)
  cut     the network is cut: packets are dropped without an error (a network namespace; needs root)
  full    the disk is full (a disk in a file; needs root)
  lag     replicas receive nothing for 1 s, then kill -9
  slow    replicas receive everything and apply nothing for 1 s, then kill -9

Writers reach the primary by
  hosts    the list of all servers
  address  an address that moves to the new primary (network namespaces; needs root)
  haproxy  HAProxy with all servers, told by its socket which one is ready
  guard    evenkeel guard, whose `backend` changes by SIGHUP

With --servers it makes no failover: writers write to your staging servers while you make one. It ends when writes have succeeded for 5 s
after the last error, or with Ctrl-C, and looks for each acknowledged write on the server that takes writes.

Examples:
  evenkeel drill failover
  evenkeel drill failover --mode after-sync --fault lag --repeat 5 --json
  evenkeel drill failover --reach haproxy --fault freeze
  evenkeel drill failover --servers URL,URL --staging db1 --staging db2 --ledger f.ledger
  evenkeel drill failover --promote '/usr/local/bin/our-failover \"$@\"'

Exit codes: 0 no acknowledged write is lost or doubled; 1 one is, writes do not succeed again, or the outage is longer than --rto; 2 wrong
use, or a step that cannot be done; 130, 143 stopped by Ctrl-C, SIGTERM (all servers and files of the drill are removed; with --servers
the watch ends, and the code is that of what it saw).")]
pub struct Args {
    /// What happens to the primary: stop, kill, freeze, cut, full, lag or slow
    #[arg(long, value_name = "WHAT", default_value = "kill")]
    pub fault: Fault,
    /// How writers reach the primary: hosts, address, haproxy or guard
    #[arg(long, value_name = "WAY", default_value = "hosts")]
    pub reach: Reach,
    /// Watch a failover of yours instead: your servers, each with a database, in the order in which writers try them
    #[arg(long, value_name = "URL,URL", value_delimiter = ',', requires = "ledger", conflicts_with_all = ["fault", "reach", "mode", "replicas", "promote", "then", "repeat", "server_binary"])]
    pub servers: Vec<String>,
    /// Host (@@hostname) of a server of yours that may be written to; may be repeated
    #[arg(long, value_name = "NAME", requires = "servers")]
    pub staging: Vec<String>,
    /// File to make: what became of each write (with --servers)
    #[arg(long, value_name = "FILE", requires = "servers")]
    pub ledger: Option<PathBuf>,
    /// Longest watch
    #[arg(long = "for", value_name = "TIME", default_value = "1h", requires = "servers")]
    pub lasts: String,
    /// How a commit waits for replicas: async, after-sync or after-commit (semi-synchronous)
    #[arg(long, value_name = "HOW", default_value = "async")]
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

/// Makes one failover after the other, and says what each came to.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let rto = args.rto.as_deref().map(|text| units::positive(text, "--rto")).transpose()?;
    let mut reports = Vec::new();
    for number in 0..args.repeat {
        let report = match &args.ledger {
            Some(ledger) => watch(session, args, ledger)?,
            None => make(session, args, number)?,
        };
        if !args.json {
            out::write(&text(&report, rto))?;
        }
        reports.push(report);
    }
    if args.json {
        out::line(serde_json::to_string_pretty(&reports)?)?;
    }
    let is_right = |report: &Report| report.account.is_right() && !is_late(report, rto);
    let has_recovered = |report: &Report| report.timeline.first_success_s.is_some();
    Ok(if reports.iter().all(|report| is_right(report) && has_recovered(report)) {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(FINDING)
    })
}

/// On private servers.
fn make(session: &Session, args: &Args, number: u32) -> Result<Report> {
    let drill = Failover {
        home: &session.home,
        server_binary: args.server_binary.clone(),
        replicas: args.replicas,
        mode: args.mode,
        fault: args.fault,
        reach: args.reach,
        promote: args.promote.clone(),
        then: args.then.clone(),
        rate: args.rate,
        seed: Seed(args.seed).numbered(number.into()),
        stop: &session.stop,
    };
    shown(session, args.json, |tell| drill.run(tell))
}

/// On servers of the user's.
fn watch(session: &Session, args: &Args, ledger: &Path) -> Result<Report> {
    let plan = Plan {
        rate: args.rate,
        seed: Seed(args.seed),
        ..common::plan(session, &args.servers, &args.staging)?
    };
    let lasts = units::positive(&args.lasts, "--for")?;
    let watch = Watch { plan, ledger, lasts, stop: &session.stop };
    shown(session, args.json, |tell| watch.run(tell))
}

fn is_late(report: &Report, rto: Option<Nanos>) -> bool {
    rto.is_some_and(|rto| report.timeline.outage_s().is_none_or(|outage| outage > rto.as_secs_f64()))
}

/// The timeline, the account, and the old primary.
fn text(report: &Report, rto: Option<Nanos>) -> String {
    let timeline = &report.timeline;
    let line =
        |what: &str, at: Option<f64>| at.map_or_else(String::new, |at| format!("  {what:<15}{at:+.3} s\n"));
    let zero = if report.made.is_some() { "fault" } else { "last success before the longest outage" };
    let mut text = format!("after the {zero}\n");
    text += &line("last success", timeline.last_success_s);
    text += &line("first error", timeline.first_error_s);
    text += &line("detected", timeline.detected_s);
    text += &line("promoted", timeline.promoted_s);
    text += &line("first success", timeline.first_success_s);
    if let Some(outage) = timeline.outage_s() {
        text += &format!("no write for {outage:.3} s\n");
    } else {
        text += "WRONG: no write has succeeded since\n";
    }
    let errors = audit::errors(&report.account.errors);
    if !errors.is_empty() {
        text += &format!("errors: {errors}\n");
    }
    text += &audit::text(&report.account);
    if report.recovery_point_s > 0.0 {
        text += &format!("lost writes go back to {:.3} s before the fault\n", report.recovery_point_s);
    }
    if report.stale > 0 {
        let times = format::count(report.stale);
        text +=
            &format!("{times} stale: a writer that reconnected did not find its last acknowledged write\n");
    }
    text += &report.made.as_ref().map(returned).unwrap_or_default();
    if is_late(report, rto) {
        text += "WRONG: no write succeeded for longer than --rto\n";
    }
    text
}

/// What became of the old primary.
fn returned(made: &Made) -> String {
    let shown: Vec<String> = made.extra.iter().take(10).map(Write::to_string).collect();
    let extra = match made.extra.len() {
        0 => "the old primary has nothing that the new one lacks".to_owned(),
        count => format!(
            "only the old primary has {} ({}{}), {} of them acknowledged",
            format::counted(count, "write"),
            shown.join(", "),
            if count > shown.len() { ", ..." } else { "" },
            format::count(made.extra_acknowledged as u64)
        ),
    };
    let follows = match &made.does_not_follow {
        None => "; it follows the new one".to_owned(),
        Some(why) => format!("; it cannot follow, and must be rebuilt from a backup: {why}"),
    };
    let behind = format::counted(made.behind as usize, "transaction");
    format!("the replica was {behind} behind at the fault\n{extra}{follows}\n")
}
