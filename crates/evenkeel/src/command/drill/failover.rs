//! `evenkeel drill failover`.

use super::{audit, staging};
use crate::command::{Session, mode};
use crate::config::units;
use crate::failure::FINDING;
use crate::progress::{ProgressEvent, View};
use crate::{format, out, signals};
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_haul::failover::{Failover, Fault, Made, Mode, Reach, Report, Watch};
use evenkeel_haul::ledger::{Plan, Write};
use std::path::PathBuf;
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

With --servers it makes no failover: writers write to your staging servers until you have made yours and writes have succeeded for 5 s, or
until Ctrl-C; then each acknowledged write is looked for.

Examples:
  evenkeel drill failover
  evenkeel drill failover --mode after-sync --fault lag --repeat 5 --json
  evenkeel drill failover --reach haproxy --fault freeze
  evenkeel drill failover --servers mysql://app@db1/drill,mysql://app@db2/drill --staging db1 --staging db2
  evenkeel drill failover --promote '/usr/local/bin/our-failover \"$@\"'

Exit codes: 0 no acknowledged write is lost or doubled; 1 one is, or the outage is longer than --rto; 2 wrong use, or a step that cannot
be done; 130, 143 stopped by Ctrl-C, SIGTERM (nothing stays).")]
pub struct Args {
    /// What happens to the primary: stop, kill, freeze, cut, full, lag or slow
    #[arg(long, value_name = "WHAT", default_value = "kill")]
    pub fault: Fault,
    /// How writers reach the primary: hosts, address, haproxy or guard
    #[arg(long, value_name = "WAY", default_value = "hosts")]
    pub reach: Reach,
    /// Watch a failover of yours instead: your servers, each with a database, in the order in which writers try them
    #[arg(long, value_name = "URL,URL", value_delimiter = ',', conflicts_with_all = ["fault", "reach", "mode", "replicas", "promote", "then", "repeat", "server_binary"])]
    pub servers: Vec<String>,
    /// Host (@@hostname) of a server of yours that may be written to; may be repeated
    #[arg(long, value_name = "NAME", requires = "servers")]
    pub staging: Vec<String>,
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
    if !args.servers.is_empty() {
        let (mut view, watch) = (View::new(mode(session, args.json)), watch(session, args)?);
        reports.push(watch.run(&mut |text| view.show(&ProgressEvent::Step { text: text.to_owned() }))?);
        drop(view);
        if !args.json {
            out::write(&text(&reports[0], rto))?;
        }
    }
    let repeat = if args.servers.is_empty() { args.repeat } else { 0 };
    for number in 0..repeat {
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
    if session.stop.is_set() {
        return Ok(signals::exit_code());
    }
    Ok(if reports.iter().all(is_right) { ExitCode::SUCCESS } else { ExitCode::from(FINDING) })
}

/// Writers on the user's servers.
fn watch<'a>(session: &'a Session, args: &Args) -> Result<Watch<'a>> {
    Ok(Watch {
        home: &session.home,
        plan: Plan {
            targets: staging::targets(session, &args.servers, &args.staging)?,
            rate: args.rate,
            ..Plan::default()
        },
        lasts: units::positive(&args.lasts, "--for")?,
        stop: &session.stop,
    })
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
        text += &format!(
            "{times} stale reads: a writer that connected anew did not find its last acknowledged write\n"
        );
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
        Some(why) => format!("; it cannot follow, and has to be built anew: {why}"),
    };
    let behind = format::counted(made.behind as usize, "transaction");
    format!("the replica was {behind} behind at the fault\n{extra}{follows}\n")
}
