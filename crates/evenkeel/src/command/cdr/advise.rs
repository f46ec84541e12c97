//! `evenkeel cdr advise`.

use super::server;
use crate::command::{Session, mode};
use crate::failure::{Stopped, WithHint};
use crate::progress::{Mode, ProgressEvent, View};
use crate::{format, out};
use anyhow::{Result, anyhow};
use evenkeel_haul::advise::{Advice, Crash, Measured, Plan, Retention, advise, retention};
use evenkeel_haul::convert::Duplicates;
use evenkeel_haul::input::list;
use evenkeel_haul::layout;
use std::path::PathBuf;
use std::process::ExitCode;

/// Flags of `evenkeel cdr advise`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel cdr advise sandbox:demo calls.cdr --layout calls.toml --index calling,start --records-per-day 20000000
  evenkeel cdr advise mysql://app@db1/billing incoming/ --layout calls.toml --cost-gb-month 0.11 --json

A sample of the files is loaded by every combination of engine, order of indexes and 1 or 2 connections, in interleaved
rounds, into a database evenkeel_advise_... that is made for it and dropped; other databases are not touched. The account needs
CREATE and DROP for it. The fastest is named, and those whose rounds overlap with its rounds: between these no difference is seen.
Then a load by each engine is killed in the middle and run again.

Exit codes: 0 done; 2 wrong use, a server that refuses, or records that it does not take; 130, 143 stopped by Ctrl-C, SIGTERM.")]
pub struct Args {
    /// Server, as mysql://user@host:port/database or sandbox:NAME
    #[arg(value_name = "URL")]
    pub target: String,
    /// Files, folders or patterns that the sample is taken from
    #[arg(value_name = "FILE", required = true)]
    pub inputs: Vec<String>,
    /// Where the fields are, as of `cdr convert`
    #[arg(long, short, value_name = "FILE")]
    pub layout: PathBuf,
    /// Columns of a further index; as often as there are indexes
    #[arg(long, value_name = "COLUMN,...")]
    pub index: Vec<String>,
    /// Records of the sample
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub sample: u64,
    /// Rounds, each with every combination
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(3..=100))]
    pub rounds: u32,
    /// Records that come in a day, for what 3 and 6 months of them take
    #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub records_per_day: u64,
    /// What a gigabyte of storage costs a month
    #[arg(long, value_name = "PRICE")]
    pub cost_gb_month: Option<f64>,
    /// Print the figures as JSON, for programs
    #[arg(long)]
    pub json: bool,
}

/// Months of retention.
const MONTHS: [u32; 2] = [3, 6];

/// Measures, and says what was the fastest.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    if args.cost_gb_month.is_some_and(|cost| !cost.is_finite() || cost < 0.0) {
        return Err(anyhow!("--cost-gb-month is no price")).hint("as 0.11");
    }
    let file = layout::read(&args.layout).hint("evenkeel cdr convert --help shows a layout")?;
    let inputs = list(&args.inputs).hint("name files, folders, or patterns in quotes")?;
    let target = server::target(session, &args.target)?;
    server::check(session, &target)?;
    let indexes = args.index.iter().map(|text| text.split(',').map(|name| name.trim().to_owned()).collect());
    let plan = Plan {
        file: &file,
        inputs: &inputs,
        target: &target,
        indexes: indexes.collect(),
        sample: args.sample,
        rounds: args.rounds,
        duplicates: Duplicates::Refuse,
        stop: &session.stop,
    };
    let mut view = View::new(if args.json && !session.quiet { Mode::Lines } else { mode(session, false) });
    let found = advise(&plan, &mut |text| view.show(&ProgressEvent::Step { text }));
    drop(view);
    if session.stop.is_set() {
        return Err(
            Stopped("before all was measured; the database of the trials is dropped".to_owned()).into()
        );
    }
    let found = found.map_err(server::explained)?;
    let kept = found.ways.iter().map(|way| kept(way, &found, args)).collect::<Vec<_>>();
    match args.json {
        true => {
            let months: Vec<_> = found
                .ways
                .iter()
                .zip(&kept)
                .map(|(way, kept)| serde_json::json!({ "way": way.way, "kept": kept }))
                .collect();
            let all = serde_json::json!({ "measured": found, "records_per_day": args.records_per_day, "retention": months });
            out::line(serde_json::to_string_pretty(&all)?)?;
        }
        false => out::write(&text(&found, &kept, args))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn kept(way: &Measured, found: &Advice, args: &Args) -> Vec<Retention> {
    let each = (way.seconds.median / found.rows.max(1) as f64, way.bytes_per_row);
    MONTHS.map(|months| retention(months, args.records_per_day as f64, each, args.cost_gb_month)).to_vec()
}

fn text(found: &Advice, kept: &[Vec<Retention>], args: &Args) -> String {
    let mut text = format!(
        "{} records, {} of them rows; medians of {} rounds, with the least and the most\n\n",
        format::count(found.records),
        format::count(found.rows),
        args.rounds
    );
    for (way, kept) in found.ways.iter().zip(kept) {
        text.push_str(&line(way, kept, found.rows));
    }
    text.push('\n');
    text.push_str(&fastest(found));
    text.push_str(&format!(
        "\nWith {} records a day, by the fastest:\n",
        format::count(args.records_per_day)
    ));
    for kept in kept.first().into_iter().flatten() {
        let cost = kept.cost_per_month.map(|cost| format!(", which cost {} a month", format::fixed(cost, 2)));
        text.push_str(&format!(
            "  {} months: {} h to load all, {} GB{}\n",
            kept.months,
            format::fixed(kept.load_hours, 1),
            format::fixed(kept.gigabytes, 1),
            cost.unwrap_or_default()
        ));
    }
    text.push_str("\nA load whose connection is killed in the middle (KILL CONNECTION), run again; a server that dies has to start again first:\n");
    found.crashes.iter().for_each(|crash| text.push_str(&crash_line(crash)));
    found.notes.iter().for_each(|note| text.push_str(&format!("({note})\n")));
    text
}

fn line(way: &Measured, kept: &[Retention], rows: u64) -> String {
    let fixed = format::fixed;
    let per_s = rows as f64 / way.seconds.median.max(1e-9);
    let months: Vec<String> = kept
        .iter()
        .map(|kept| {
            format!("{} months {} GB {} h", kept.months, fixed(kept.gigabytes, 0), fixed(kept.load_hours, 1))
        })
        .collect();
    format!(
        "  {:<44} {:>6} s ({} to {}) {:>9} rows/s {:>5} bytes/row; {}\n",
        way.way.to_string(),
        fixed(way.seconds.median, 2),
        fixed(way.seconds.least, 2),
        fixed(way.seconds.most, 2),
        format::count(per_s as u64),
        fixed(way.bytes_per_row, 0),
        months.join(", ")
    )
}

fn fastest(found: &Advice) -> String {
    let Some(first) = found.ways.first() else { return "nothing was measured\n".to_owned() };
    let alike: Vec<String> =
        found.ways[1..].iter().filter(|way| way.like_fastest).map(|way| way.way.to_string()).collect();
    match alike.is_empty() {
        true => format!("Fastest: {}\n", first.way),
        false => format!("Fastest: {}; no difference seen to: {}\n", first.way, alike.join("; ")),
    }
}

fn crash_line(crash: &Crash) -> String {
    let unit = match crash.transaction_bytes {
        Some(bytes) => format!(
            "; transactions of {} KiB here, of which at most one for each connection is sent twice",
            bytes >> 10
        ),
        None => "; all that was sent before the kill is sent again".to_owned(),
    };
    format!(
        "  {:<44} killed at {} %: {} % of the rows sent twice, {} s lost{unit}\n",
        crash.way.to_string(),
        format::fixed(100.0 * crash.killed_at, 0),
        format::fixed(100.0 * crash.sent_twice, 0),
        format::fixed(crash.seconds_lost, 2),
    )
}
