//! `evenkeel cdr generate`.

use crate::command::{Session, mode};
use crate::failure::{Stopped, WithHint};
use crate::progress::{ProgressEvent, View};
use crate::{format, out};
use anyhow::{Context, Result, anyhow};
use evenkeel_core::random::Seed;
use evenkeel_haul::generate::{Dirt, LAYOUT, Planted, Spec, generate};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel cdr generate calls-0801.cdr --records 1000000 --day 20260801
  evenkeel cdr generate calls.cdr --records 5000 --dirt all --json
  evenkeel cdr generate calls.cdr --records 5000 --dirt late=0.02,nul=0.001,short-last
  evenkeel cdr generate --print-layout > calls.toml

Dirt: late, duplicate, contradiction (same key, other bytes), delimiter, backslash, nul, non-ascii, crlf, each with its share of the
records, and short-last. `all` is 0.1 % of each and 1 % late records.

Exit codes: 0 done; 2 wrong use, a file that is there already or cannot be written; 130, 143 stopped by Ctrl-C, SIGTERM, with
nothing left behind.")]
pub struct Args {
    /// File to write, or - for the standard output
    #[arg(value_name = "FILE", required_unless_present = "print_layout")]
    pub file: Option<PathBuf>,
    /// Number of records, without repeats
    #[arg(long, default_value_t = 100_000, value_name = "N")]
    pub records: u64,
    /// The day, as yyyymmdd
    #[arg(long, default_value = "20260801", value_name = "DAY")]
    pub day: String,
    /// Number of the first record
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub first: u64,
    /// Kinds of dirt, as late=0.02,nul=0.001 or all
    #[arg(long, default_value = "none", value_name = "KINDS")]
    pub dirt: String,
    /// Seed of the random numbers; the same seed gives the same bytes
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// Replace a file that exists
    #[arg(long)]
    pub overwrite: bool,
    /// Print how much dirt was planted as JSON
    #[arg(long)]
    pub json: bool,
    /// Print the layout of the records and write none
    #[arg(long)]
    pub print_layout: bool,
}

/// Most records whose numbers fit into their field.
const MOST: u64 = 9_999_999_999;

/// Generates the files and prints what they hold.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let Some(path) = args.file.as_ref().filter(|_| !args.print_layout) else {
        out::write(LAYOUT)?;
        return Ok(ExitCode::SUCCESS);
    };
    let spec = spec(args)?;
    // It may hold records that are nowhere else.
    if !args.overwrite && path.is_file() {
        return Err(anyhow!("{} is there already", path.display()))
            .hint("name another file, or replace it by --overwrite");
    }
    let view = View::new(mode(session, false));
    let is_stdout = path == Path::new("-");
    let failed = || format!("writing {}", path.display());
    let out: &mut dyn Write = match is_stdout {
        true => &mut io::stdout(),
        false => &mut File::create(path)
            .with_context(failed)
            .hint("name a file in a folder where you may write")?,
    };
    let planted = write(session, &spec, out, view);
    if planted.is_err() && path.is_file() {
        // Nobody waits for the error of a file that is not wanted any more.
        let _ = fs::remove_file(path);
    }
    let planted = planted.with_context(failed)?;
    let text = match args.json {
        true => format!(
            "{}\n",
            serde_json::to_string(&serde_json::json!({ "records": spec.records, "planted": planted }))?
        ),
        false => format!("{} records of {}{}\n", format::count(spec.records), args.day, words(&planted)),
    };
    // The standard output has the records.
    if is_stdout {
        out::tell(&text)
    } else {
        out::write(&text)?
    }
    Ok(ExitCode::SUCCESS)
}

/// How often each kind of dirt was planted, where it was.
fn words(planted: &Planted) -> String {
    let there = planted.iter().filter(|(_, count)| **count > 0);
    let words: Vec<String> =
        there.map(|(kind, count)| format!("{} {}", format::count(*count), kind.replace('_', "-"))).collect();
    if words.is_empty() { String::new() } else { format!("; planted: {}", words.join(", ")) }
}

fn spec(args: &Args) -> Result<Spec> {
    let day = Some(&args.day).filter(|day| day.len() == 8 && evenkeel_wire::record::is_time(day.as_bytes()));
    let day = day.and_then(|day| day.parse().ok());
    let day = day.ok_or_else(|| anyhow!("--day {}: not a valid date", args.day)).hint("as 20260801")?;
    if args.records.checked_add(args.first).is_none_or(|last| last > MOST) {
        return Err(anyhow!("numbers of records have ten digits"))
            .hint("take fewer --records, or a smaller --first");
    }
    let dirt = Dirt::parse(&args.dirt)
        .map_err(|error| anyhow!(error))
        .hint("as --dirt all, or --dirt late=0.01,nul=0.001,short-last")?;
    Ok(Spec { records: args.records, day, first: args.first, dirt, seed: Seed(args.seed) })
}

fn write(session: &Session, spec: &Spec, out: &mut dyn Write, mut view: View) -> Result<Planted> {
    let (clock, mut count) = (evenkeel_os::clock::Clock::start(), 0);
    let mut tell = |records: u64| {
        count = records;
        if records.is_multiple_of(1 << 18) {
            let per_s = records as f64 / clock.now().as_secs_f64().max(1e-3);
            view.show(&ProgressEvent::Converting {
                step: "generating".to_owned(),
                bytes: 200 * records,
                bytes_total: Some(200 * spec.records),
                records,
                rejects: 0,
                bytes_per_s: 200.0 * per_s,
                left_s: Some((spec.records - records) as f64 / per_s),
            });
        }
        !session.stop.is_set()
    };
    let planted = generate(spec, &mut BufWriter::with_capacity(1 << 18, out), &mut tell)?;
    match session.stop.is_set() {
        true => Err(Stopped(format!("after {count} of {} records", spec.records)).into()),
        false => Ok(planted),
    }
}
