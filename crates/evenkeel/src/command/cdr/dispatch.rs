//! `evenkeel cdr dispatch`.

use super::convert::counted;
use super::retire::Shown;
use super::server;
use crate::command::{Session, mode};
use crate::failure::FINDING;
use crate::progress::View;
use crate::{format, out};
use anyhow::Result;
use evenkeel_haul::dispatch::{Audit, DayDone, Dispatched, Job, NamePattern, dispatch};
use evenkeel_site::server::Control;
use std::process::ExitCode;

/// Records of one transaction, about.
pub(super) const BATCH: u64 = 1_000_000;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel cdr dispatch mysql://app@db1/calls --table calls --by started
  evenkeel cdr dispatch mysql://app@db1/calls --table calls --by started --json

Each record goes to the table of its day; one without a date stays. A missing day table is made like the source. A transaction copies
the records of a day, or of a part of it, and deletes them from the source: both tables must be InnoDB. The table evenkeel_dispatches
says what was moved; run the same command again after a kill, and it continues.

At the end the rows of the source and of the day tables are compared with those before, by counts and checksums. A client that writes to
them meanwhile shows up as a difference: --no-audit skips the comparison.

Exit codes: 0 done; 1 records stay in the source because their key is in the day table already, or the audit found other rows than
before; 2 wrong use, or a table that cannot be dispatched in safety; 130, 143 stopped by Ctrl-C, SIGTERM.")]
pub struct Args {
    /// Server, as mysql://user@host:port/database or sandbox:NAME/DATABASE (default there: cdr)
    #[arg(value_name = "URL")]
    pub target: String,
    /// The table with the loaded records
    #[arg(long, value_name = "TABLE")]
    pub table: String,
    /// Its column that has the day: a DATE or DATETIME
    #[arg(long, value_name = "COLUMN")]
    pub by: String,
    /// Names of the day tables
    #[arg(long, value_name = "PATTERN", default_value = "{table}_{day}")]
    pub name: String,
    /// Records of one transaction, about; a day is split where an index begins with COLUMN
    #[arg(long, value_name = "N", default_value_t = BATCH, value_parser = clap::value_parser!(u64).range(1..))]
    pub batch: u64,
    /// Refuse a source with records of more days: some dates may be wrong
    #[arg(long, value_name = "N", default_value_t = 62)]
    pub max_days: usize,
    /// Do not compare the rows with those before
    #[arg(long)]
    pub no_audit: bool,
    /// Print what became of the records as JSON
    #[arg(long)]
    pub json: bool,
}

/// Moves the records to the tables of their days, and prints how many went where.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let target = server::target(session, &args.target)?;
    let mut control = Control::connect_until(&target, &session.stop)?;
    let job = job(args)?;
    let mut shown = Shown::new(View::new(mode(session, args.json)));
    let done = dispatch(&mut control, &job, &mut |progress| shown.show(progress))?;
    drop(shown);
    out::answer(args.json, &done, || out::write(&text(&job, &done)))?;
    let refused = done.days.iter().any(|day| day.refused.is_some());
    let lost = done.audit.as_ref().is_some_and(|audit| !audit.same);
    Ok(if refused || lost { ExitCode::from(FINDING) } else { ExitCode::SUCCESS })
}

fn job(args: &Args) -> Result<Job> {
    let names = NamePattern::parse(&args.name, &args.table)?;
    Ok(Job {
        table: args.table.clone(),
        by: args.by.clone(),
        names,
        batch: args.batch,
        audit: !args.no_audit,
        days_max: args.max_days,
    })
}

/// What became of the records, a line for each day.
fn text(job: &Job, done: &Dispatched) -> String {
    let mut text = String::new();
    if done.resumed {
        text.push_str("continued a dispatch that was cut\n");
    }
    for day in &done.days {
        text.push_str(&line(day));
    }
    let days = done.days.iter().filter(|day| day.records > 0).count();
    text.push_str(&format!("{} of {}\n", counted(done.records, "record"), format::counted(days, "day")));
    if done.undated > 0 {
        let undated = counted(done.undated, "record");
        text.push_str(&format!("{undated} without a date left in {}\n", job.table));
    }
    text.push_str(&done.audit.as_ref().map_or_else(String::new, audited));
    text
}

/// What the audit found, a line.
fn audited(audit: &Audit) -> String {
    let (rows, tables) = (format::count(audit.rows), format::counted(audit.tables, "table"));
    match audit.same {
        true => format!(
            "audited: {rows} rows of {tables}, the same as before; {}\n",
            format::seconds(audit.took_ms as f64 / 1e3)
        ),
        false => format!(
            "audited: {rows} rows of {tables}, and {} before{}: rows were lost or doubled, or another client wrote to them meanwhile\n",
            format::count(audit.before),
            if audit.before == audit.rows { ", but some differ" } else { "" }
        ),
    }
}

fn line(day: &DayDone) -> String {
    let made = if day.created { ", new table" } else { "" };
    let mut line = format!("{}  {:>12}  {}{made}\n", day.day, format::count(day.records), day.table);
    if let Some(refused) = &day.refused {
        line.push_str(&format!("            not moved: {refused}\n"));
    }
    line
}
