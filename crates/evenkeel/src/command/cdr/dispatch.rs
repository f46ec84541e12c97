//! `evenkeel cdr dispatch`.

use super::moved::Shown;
use super::server;
use crate::command::{Session, mode};
use crate::failure::{FINDING, WithHint};
use crate::progress::View;
use crate::{format, out};
use anyhow::{Result, anyhow};
use evenkeel_haul::dispatch::{
    DayDone, Dispatched, Job, NamePattern, PROCEDURES, Way, dispatch, remove_procedures,
};
use evenkeel_site::server::Control;
use std::process::ExitCode;

/// Flags of `evenkeel cdr dispatch`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel cdr dispatch mysql://app@db1/calls --table calls --by started
  evenkeel cdr dispatch mysql://app@db1/calls --table calls --by started --way exchange --json
  evenkeel cdr dispatch mysql://app@db1/calls --table calls --by started --way procedure --null-day calls_undated
  evenkeel cdr dispatch --print-procedures > procedures.sql
  evenkeel cdr dispatch mysql://app@db1/calls --remove-procedures

Each record goes to the table of its day, which is made like the source where it is missing, or gets what comes late.
What was moved stands in the table evenkeel_dispatches; a rerun after a kill at any moment goes on with it.

Ways:
  insert     INSERT ... SELECT and DELETE of a day in one transaction; without transactions (MyISAM, Aria) the source
             is renamed first, and dropped once counts and checksums agree
  procedure  the same by stored procedures that write the statements (--print-procedures)
  exchange   a partition becomes the day's table; days whose table has records already go by insert

Exit codes: 0 done; 1 records stay in the source because their key is in the day table already; 2 wrong use, or a table
that cannot be dispatched in safety; 130, 143 stopped by Ctrl-C, SIGTERM.")]
pub struct Args {
    /// Server, as mysql://user@host:port/database or sandbox:NAME/DATABASE (there: cdr, unless named)
    #[arg(value_name = "URL", required_unless_present = "print_procedures")]
    pub target: Option<String>,
    /// The table with the loaded records
    #[arg(long, value_name = "TABLE", required_unless_present_any = ["print_procedures", "remove_procedures"])]
    pub table: Option<String>,
    /// Its column that has the day: a DATE or DATETIME
    #[arg(long, value_name = "COLUMN", required_unless_present_any = ["print_procedures", "remove_procedures"])]
    pub by: Option<String>,
    /// How records are moved
    #[arg(long, value_name = "WAY", default_value = "insert")]
    pub way: WayWord,
    /// How day tables are called
    #[arg(long, value_name = "PATTERN", default_value = "{table}_{day}")]
    pub name: String,
    /// Whether a day table has its indexes before or after it is filled for the first time
    #[arg(long, value_name = "WHEN", default_value = "before")]
    pub indexes: IndexesWord,
    /// Table for records without a date; without it they stay
    #[arg(long, value_name = "TABLE")]
    pub null_day: Option<String>,
    /// Records that one transaction moves, about; a day is parted where an index begins with COLUMN
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub batch: u64,
    /// Refuse a source with records of more days: some dates may be wrong
    #[arg(long, value_name = "N", default_value_t = 62)]
    pub max_days: usize,
    /// What became of the records as JSON
    #[arg(long)]
    pub json: bool,
    /// Print the stored procedures and do nothing
    #[arg(long)]
    pub print_procedures: bool,
    /// Drop the stored procedures from the database and do nothing else
    #[arg(long, conflicts_with = "print_procedures")]
    pub remove_procedures: bool,
}

/// What `--way` takes.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum WayWord {
    /// INSERT ... SELECT
    Insert,
    /// Stored procedures with dynamic SQL
    Procedure,
    /// Partitions become tables
    Exchange,
}

/// What `--indexes` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum IndexesWord {
    /// The table is made with them
    Before,
    /// They are added once its records are in
    After,
}

/// Dispatches.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    if args.print_procedures {
        out::write(PROCEDURES)?;
        return Ok(ExitCode::SUCCESS);
    }
    let target = server::target(session, args.target.as_deref().unwrap_or_default())?;
    let mut control = Control::connect_until(&target, &session.stop)?;
    if args.remove_procedures {
        let removed = remove_procedures(&mut control)?;
        out::line(format!("{} dropped", format::counted(removed, "procedure")))?;
        return Ok(ExitCode::SUCCESS);
    }
    let job = job(args)?;
    let mut shown = Shown::new(View::new(mode(session, args.json)));
    let done = dispatch(&mut control, &job, &mut |progress| shown.show(progress))?;
    drop(shown);
    match args.json {
        true => out::line(serde_json::to_string_pretty(&done)?)?,
        false => out::write(&text(&job, &done))?,
    }
    let refused = done.days.iter().any(|day| day.refused.is_some());
    Ok(if refused { ExitCode::from(FINDING) } else { ExitCode::SUCCESS })
}

fn job(args: &Args) -> Result<Job> {
    let (table, by) = (args.table.clone().unwrap_or_default(), args.by.clone().unwrap_or_default());
    let names = NamePattern::parse(&args.name, &table)?;
    if let Some(null_day) = &args.null_day
        && (*null_day == table || names.day(null_day).is_some())
    {
        return Err(anyhow!("--null-day {null_day} is the source or the table of a day"))
            .hint(format!("as --null-day {table}_undated"));
    }
    let way = match args.way {
        WayWord::Insert => Way::Insert,
        WayWord::Procedure => Way::Procedure,
        WayWord::Exchange => Way::Exchange,
    };
    Ok(Job {
        table,
        by,
        way,
        names,
        indexes_after: args.indexes == IndexesWord::After,
        null_day: args.null_day.clone(),
        batch: args.batch,
        days_max: args.max_days,
    })
}

/// What became of the records, a line for each day.
fn text(job: &Job, done: &Dispatched) -> String {
    let mut text = String::new();
    if done.resumed {
        text.push_str("went on with a dispatch that was cut\n");
    }
    if done.partitioned {
        text.push_str(&format!("partitioned {} by day of {}, which copies its rows\n", job.table, job.by));
    }
    for day in &done.days {
        text.push_str(&line(day));
    }
    let days = done.days.iter().filter(|day| day.day.is_some() && day.records > 0).count();
    text.push_str(&format!(
        "{} of {}\n",
        format::counted(usize::try_from(done.records).unwrap_or(usize::MAX), "record"),
        format::counted(days, "day")
    ));
    if done.undated > 0 {
        text.push_str(&format!(
            "{} records without a date stay in {}; --null-day TABLE moves them\n",
            format::count(done.undated),
            job.table
        ));
    }
    text
}

fn line(day: &DayDone) -> String {
    let name = day.day.map_or("no date".to_owned(), |day| day.to_string());
    let made = if day.created { ", new table" } else { "" };
    let note = day.note.as_ref().map_or(String::new(), |note| format!("; {note}"));
    let mut line = format!(
        "{name:<10}  {:>12}  {}  by {}{made}{note}\n",
        format::count(day.records),
        day.table,
        day.way.name()
    );
    if let Some(refused) = &day.refused {
        line.push_str(&format!("            others stay in the source: {refused}\n"));
    }
    line
}
