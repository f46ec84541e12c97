//! `evenkeel drill recover`.

use super::audit;
use super::common::{server, shown};
use crate::command::Session;
use crate::config::units;
use crate::failure::FINDING;
use crate::{format, out};
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_haul::drill::{Method, Recover, Report, SnapshotCommands, Timed};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Everything runs on private servers, which are removed afterwards. A server is filled and written to; a full backup and incrementals are
taken under this load; the server is killed; the backup is restored into a new server, which applies the binary logs up to the kill. Then
all rows are compared with those of the source, CHECK TABLE looks at each table, and each acknowledged write is looked for.

With a URL that server is backed up first, by the same method (mariadb-backup and snapshots on its own machine), and the private one begins
with its data.

With --from a backup of yours is restored into a private server, recovered from a folder of binary logs, and checked (CHECK TABLE).

Examples:
  evenkeel drill recover
  evenkeel drill recover --method snapshot
  evenkeel drill recover mysql://backup@db1 --method dump --rto 2h
  evenkeel drill recover --rto 10m --rpo 5s --size 2G --json
  evenkeel drill recover --from /backup/full --incremental /backup/inc1 --logs /var/log/mysql --until '2026-11-30 14:00:00'
  evenkeel drill recover --from dump.sql --logs /var/log/mysql --until 0-1-345 --keep rescued

Exit codes: 0 all is there, within the objectives; 1 an objective is missed, a row differs, a write is lost or a table is damaged; 2
wrong use, or a step that cannot be done; 130, 143 stopped by Ctrl-C, SIGTERM (all servers and files of
the drill are removed).")]
pub struct Args {
    /// Server whose data the drill starts with, as mysql://user@host or sandbox:NAME; it is only backed up
    #[arg(value_name = "URL", conflicts_with_all = ["from", "size"])]
    pub target: Option<String>,
    /// Recovery time objective: from the kill until all can be read again
    #[arg(long, value_name = "TIME")]
    pub rto: Option<String>,
    /// Recovery point objective: how old a lost write may be
    #[arg(long, value_name = "TIME")]
    pub rpo: Option<String>,
    /// How the backup is taken: backup (mariadb-backup), snapshot (on a private XFS volume; needs root) or dump
    #[arg(long, value_name = "HOW", default_value = "backup")]
    pub method: Method,
    /// Shell command that makes a snapshot under the lock (LVM, ZFS, a cloud): $1 is the data directory; it prints where the copy is
    #[arg(long, value_name = "COMMAND")]
    pub snapshot_command: Option<String>,
    /// Shell command that removes the snapshot at $1, once it is copied off
    #[arg(long, value_name = "COMMAND", requires = "snapshot_command")]
    pub snapshot_remove: Option<String>,
    /// Incremental backups after the full one, by mariadb-backup [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=20))]
    pub incrementals: Option<u32>,
    /// Data before the load begins
    #[arg(long, value_name = "SIZE", default_value = "64M")]
    pub size: String,
    /// Writes per second
    #[arg(long, value_name = "N", default_value_t = 200.0)]
    pub rate: f64,
    /// Restore this instead: a folder of mariadb-backup, or a dump; it is not changed
    #[arg(long, value_name = "PATH", conflicts_with_all = ["method", "incrementals", "size", "rate", "seed", "rpo"])]
    pub from: Option<PathBuf>,
    /// Incremental backup on it; may be repeated, in their order
    #[arg(long, value_name = "DIR", requires = "from", conflicts_with = "target")]
    pub incremental: Vec<PathBuf>,
    /// Folder with the binary logs since the backup
    #[arg(long, value_name = "DIR", requires = "from", conflicts_with = "target")]
    pub logs: Option<PathBuf>,
    /// Where to stop: a GTID (with it), LOG:OFFSET or a time of this machine (before it) [default: the end of the logs]
    #[arg(long, value_name = "PLACE", requires = "logs")]
    pub until: Option<String>,
    /// Also look for each write that `evenkeel drill write` had acknowledged
    #[arg(long, value_name = "FILE", requires = "from", conflicts_with = "target")]
    pub ledger: Option<PathBuf>,
    /// Keep the restored server as a sandbox of this name
    #[arg(long, value_name = "NAME", requires = "from", conflicts_with = "target")]
    pub keep: Option<String>,
    /// Server program [default: the one that is installed]
    #[arg(long, value_name = "FILE")]
    pub server_binary: Option<PathBuf>,
    /// Seed of writes and changes
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Does the whole chain, and says whether the objectives are met.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let objectives = Objectives::of(args)?;
    let drill = Recover {
        home: &session.home,
        server_binary: args.server_binary.clone(),
        method: args.method,
        snapshot: args
            .snapshot_command
            .clone()
            .map(|take| SnapshotCommands { take, remove: args.snapshot_remove.clone() }),
        of: args.target.as_deref().map(|text| server(session, text)).transpose()?,
        incrementals: args.incrementals.unwrap_or(u32::from(args.method == Method::Backup)),
        rate: args.rate,
        bytes: units::bytes(&args.size)?,
        seed: Seed(args.seed),
        stop: &session.stop,
    };
    let report = shown(session, args.json, |tell| drill.run(tell))?;
    let missed = objectives.missed(&report);
    let mut value = serde_json::to_value(&report)?;
    value["missed"] = json!(missed);
    value["is_right"] = json!(report.is_right());
    out::answer(args.json, &value, || out::write(&text(&report, args.method, &missed)))?;
    Ok(if report.is_right() && missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FINDING) })
}

pub struct Objectives {
    rto: Option<Nanos>,
    rpo: Option<Nanos>,
}

impl Objectives {
    pub fn of(args: &Args) -> Result<Self> {
        let read =
            |text: &Option<String>, flag| text.as_deref().map(|text| units::positive(text, flag)).transpose();
        Ok(Self { rto: read(&args.rto, "--rto")?, rpo: read(&args.rpo, "--rpo")? })
    }

    /// What to shorten, where the recovery took too long.
    pub fn late(&self, recovery_s: f64, steps: &[Timed]) -> Vec<String> {
        let longest = steps.iter().max_by(|a, b| a.took_s.total_cmp(&b.took_s)).map_or("", |step| step.step);
        let late = self.rto.filter(|rto| recovery_s > rto.as_secs_f64());
        let sentence = late.map(|rto| {
            format!(
                "recovery took {}, longer than the objective of {}: shorten \"{longest}\" first",
                format::seconds(round(recovery_s)),
                format::seconds(rto.as_secs_f64())
            )
        });
        sentence.into_iter().collect()
    }

    /// A sentence for each that is missed.
    fn missed(&self, report: &Report) -> Vec<String> {
        let old = self.rpo.filter(|rpo| report.recovery_point_s > rpo.as_secs_f64());
        let old = old.map(|rpo| {
            format!(
                "writes of the last {} are lost, more than the objective of {}",
                format::seconds(report.recovery_point_s),
                format::seconds(rpo.as_secs_f64())
            )
        });
        self.late(report.recovery_s, &report.steps).into_iter().chain(old).collect()
    }
}

/// What was done and measured, then what is wrong.
fn text(report: &Report, method: Method, missed: &[String]) -> String {
    let mut text = format!("{}\n", report.server);
    for (number, taken) in report.backups.iter().enumerate() {
        let name = if number == 0 { method.word().to_owned() } else { format!("incremental {number}") };
        let lock =
            taken.lock_s.map_or_else(String::new, |lock| format!("; lock {}", format::seconds(round(lock))));
        text += &format!(
            "  {name:<14}{:>10} in {}{lock}; longest pause of writes {}\n",
            format::bytes(taken.bytes),
            format::seconds(round(taken.took_s)),
            format::seconds(round(taken.pause_s))
        );
    }
    let ms = |value: Option<f64>| value.map_or("-".to_owned(), |ms| format!("{ms:.1} ms"));
    let responses = report.responses;
    text += &format!(
        "  response      {} before, {} during, {} after the backups\n",
        ms(responses.before_ms),
        ms(responses.during_ms),
        ms(responses.after_ms)
    );
    text += &lines(report.recovery_s, &report.steps, report.transactions);
    text += &audit::text(&report.account);
    let wrong = report.differences.iter().chain(&report.damaged).chain(missed);
    wrong.for_each(|line| text += &format!("WRONG: {line}\n"));
    if report.is_right() {
        text += &format!(
            "all rows are those of the source ({} in {})\n",
            format::counted(report.tables, "table"),
            format::counted(report.databases, "database")
        );
    }
    text
}

/// How long the recovery took, and each of its steps.
pub fn lines(recovery_s: f64, steps: &[Timed], transactions: u64) -> String {
    let mut text = format!("recovery        {}\n", format::seconds(round(recovery_s)));
    for step in steps {
        let more = match step.step {
            "apply" => format!(" ({})", format::counted(transactions as usize, "transaction")),
            _ => String::new(),
        };
        text += &format!("  {:<14}{}{more}\n", step.step, format::seconds(round(step.took_s)));
    }
    text
}

fn round(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}
