//! `evenkeel cdr retire`.

use super::convert::counted;
use super::server;
use crate::command::{Session, mode};
use crate::failure::{FINDING, WithHint};
use crate::progress::{ProgressEvent, View};
use crate::{format, out};
use anyhow::{Result, anyhow};
use evenkeel_haul::dispatch::{Day, NamePattern, Progress, Retire, Retired, retire};
use evenkeel_os::clock::Clock;
use evenkeel_site::server::Control;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel cdr retire mysql://app@db1/calls --table calls --keep 90d --dry-run
  evenkeel cdr retire mysql://app@db1/calls --table calls --keep 90d
  evenkeel cdr retire mysql://app@db1/calls --table calls --keep 26w --today 20260801 --json

Day tables whose day is more than --keep before today are dropped. Today is the newest day with dispatched records, or the server's
date where that is earlier: neither one record with a wrong date nor a switch that is silent drops all tables. Days after tomorrow, and
days with less than 1 % of the records of the fullest day, do not count. A table that no dispatch of the source has made is refused,
and so is one that has more or fewer records than were dispatched to it.

Exit codes: 0 done; 1 a table that is old enough was refused; 2 wrong use, or the server's error; 130, 143 stopped by
Ctrl-C, SIGTERM.")]
pub struct Args {
    /// Server, as mysql://user@host:port/database or sandbox:NAME/DATABASE (default there: cdr)
    #[arg(value_name = "URL")]
    pub target: String,
    /// The table from which records were dispatched
    #[arg(long, value_name = "TABLE")]
    pub table: String,
    /// Days or weeks to keep, as 90d or 26w
    #[arg(long, value_name = "TIME")]
    pub keep: String,
    /// The date to count from, as yyyymmdd
    #[arg(long, value_name = "DAY")]
    pub today: Option<String>,
    /// Names of the day tables
    #[arg(long, value_name = "PATTERN", default_value = "{table}_{day}")]
    pub name: String,
    /// Print what would be dropped and drop nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print what was dropped as JSON
    #[arg(long)]
    pub json: bool,
}

/// Drops day tables that are too old.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let job = job(args)?;
    let target = server::target(session, &args.target)?;
    let mut control = Control::connect_until(&target, &session.stop)?;
    let mut shown = Shown::new(View::new(mode(session, args.json)));
    let retired = retire(&mut control, &job, &mut |progress| shown.show(progress))?;
    drop(shown);
    out::answer(args.json, &retired, || out::write(&text(&retired)))?;
    Ok(if retired.refused.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FINDING) })
}

fn job(args: &Args) -> Result<Retire> {
    let today = match &args.today {
        None => None,
        Some(text) => {
            let day = Day::parse(text).ok_or_else(|| anyhow!("--today {text}: not a valid date"));
            Some(day.hint("as 20260801")?)
        }
    };
    Ok(Retire {
        table: args.table.clone(),
        names: NamePattern::parse(&args.name, &args.table)?,
        keep_days: days(&args.keep, "--keep")?,
        today,
        dry_run: args.dry_run,
    })
}

/// Days of a flag as `90d` or `26w`: at least one, and no more than a century.
pub(super) fn days(text: &str, flag: &str) -> Result<u32> {
    const MOST: u32 = 36_525;
    let number = match text.strip_suffix('d') {
        Some(days) => days.parse().ok(),
        None => text
            .strip_suffix('w')
            .and_then(|weeks| weeks.parse().ok())
            .and_then(|weeks: u32| weeks.checked_mul(7)),
    };
    number
        .filter(|days| (1..=MOST).contains(days))
        .ok_or_else(|| anyhow!("{flag} {text} is not a number of days or weeks"))
        .hint("write it as 90d or 26w")
}

/// What was dropped and what was not.
fn text(retired: &Retired) -> String {
    let mut text = format!("today is {}; tables before {} are too old\n", retired.today, retired.first_kept);
    let word = if retired.dry_run { "would be dropped" } else { "dropped" };
    for table in &retired.dropped {
        let (records, megabytes) = (counted(table.records, "record"), format::count(table.bytes >> 20));
        text.push_str(&format!("{word}  {}  {records}, {megabytes} MB\n", table.table));
    }
    for table in &retired.refused {
        let why = table.refused.as_deref().unwrap_or_default();
        text.push_str(&format!("refused  {}  {why}\n", table.table));
    }
    let count = |number| format::counted(number, "table");
    text.push_str(&format!(
        "{} {word} with {}, {} refused, {} newer\n",
        count(retired.dropped.len()),
        counted(retired.dropped.iter().map(|table| table.records).sum(), "record"),
        count(retired.refused.len()),
        count(retired.kept)
    ));
    text
}

/// Shows how far the move is, on standard error.
pub(super) struct Shown {
    view: View,
    clock: Clock,
}

impl Shown {
    pub fn new(view: View) -> Self {
        Self { view, clock: Clock::start() }
    }

    /// Shows how far it is.
    pub fn show(&mut self, progress: &Progress) {
        self.view.show(&match progress {
            Progress::Step(text) => ProgressEvent::Step { text: text.clone() },
            Progress::Moving { table, records, total } => {
                let rows_per_s = *records as f64 / self.clock.now().as_secs_f64().max(1e-3);
                let left = total.saturating_sub(*records) as f64 / rows_per_s;
                ProgressEvent::Populating {
                    table: table.clone(),
                    rows: *records,
                    rows_total: (*total).max(*records),
                    rows_per_s,
                    left_s: Some(left).filter(|left| left.is_finite()),
                }
            }
        });
    }
}
