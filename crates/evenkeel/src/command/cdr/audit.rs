//! `evenkeel cdr audit`.

use super::convert::{DUPLICATES, Shown, counted, one_of, view};
use super::server;
use crate::command::Session;
use crate::failure::{FINDING, WithHint};
use crate::{format, out};
use anyhow::{Result, anyhow};
use evenkeel_haul::audit::{Audit, Discrepancy, Kind, Report};
use evenkeel_haul::convert::Duplicates;
use evenkeel_haul::input::list;
use evenkeel_haul::layout;
use evenkeel_haul::layout::LayoutFile;
use evenkeel_os::clock::Clock;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each record of the files must be stored once in all tables together, or refused once. Others are named by file and byte offset: lost,
doubled, altered with the fields, stored although a reject; and rows that are in no file. The day tables of a dispatched table are
read with it; records of those that cdr retire dropped count as retired. Columns without a field are not compared. Text is compared
byte by byte, numbers and times by value: 1.50 is 1.5. InnoDB tables are read from one snapshot.

Examples:
  evenkeel cdr audit mysql://app@db1/calls calls-0801.cdr --layout calls.toml --table calls --rejects csv/
  evenkeel cdr audit sandbox:a/calls 'incoming/*.cdr.gz' --layout calls.toml --table 'calls_*' --json
  evenkeel cdr audit mysql://app@db1/calls --export /backup/calls

Exit codes: 0 each record is stored or refused once; 1 something was found; 2 wrong use, or a file or a table that
cannot be read; 130, 143 stopped by Ctrl-C, SIGTERM.")]
pub struct Args {
    /// Server, as mysql://user@host:port/database or sandbox:NAME/DATABASE (default there: cdr)
    #[arg(value_name = "URL")]
    pub target: String,
    /// Files, folders, patterns; .gz and .zst are unpacked
    #[arg(value_name = "FILE", required_unless_present = "export")]
    pub inputs: Vec<String>,
    /// Layout of the records, as in `cdr convert --help`
    #[arg(long, short, value_name = "FILE", required_unless_present = "export")]
    pub layout: Option<PathBuf>,
    /// Table, or a pattern of tables in quotes, as 'calls_*'; may be repeated
    #[arg(long = "table", visible_alias = "tables", value_name = "NAME", required_unless_present = "export")]
    pub tables: Vec<String>,
    /// Type of record in the tables, if the layout has several
    #[arg(long = "type", value_name = "NAME")]
    pub record_type: Option<String>,
    /// Folder of FILE.rejects, or one file: each reject must be there once
    #[arg(long, value_name = "PATH")]
    pub rejects: Option<PathBuf>,
    /// What happened to a record whose key came before
    #[arg(long, value_name = "WHAT", default_value = "refuse", value_parser = one_of(DUPLICATES))]
    pub duplicates: Duplicates,
    /// Folder of `evenkeel cdr export`: check its files, and compare the tables with them
    #[arg(long, value_name = "DIR", conflicts_with_all = ["inputs", "layout", "rejects"])]
    pub export: Option<PathBuf>,
    /// Print what was found as JSON
    #[arg(long)]
    pub json: bool,
}

/// Compares the files with the tables, and prints what is not stored or refused once.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    if let Some(folder) = &args.export {
        return super::export::check(session, &args.target, folder, (&args.tables, args.json));
    }
    let path = args.layout.as_deref().unwrap_or(Path::new(""));
    let file = layout::read(path).hint("evenkeel cdr convert --help shows a layout")?;
    let target = server::named(session, &args.target)?;
    let audit = Audit {
        file: &file,
        record_type: record_type(args, &file)?,
        inputs: list(&args.inputs).hint("name files, folders, or patterns in quotes")?,
        target: &target,
        tables: args.tables.clone(),
        rejects: args.rejects.clone(),
        duplicates: args.duplicates,
        after: None,
        names: names(args.json),
        scratch: &std::env::temp_dir(),
        stop: &session.stop,
    };
    let (shown, clock) = (Shown::new(view(session, args.json)), Clock::start());
    let mut report = audit.run(&|progress| shown.tell(progress))?;
    drop(shown);
    let took_s = clock.now().as_secs_f64();
    if has_too_few_files(&report) && !args.json {
        report.findings.retain(|finding| finding.kind != Kind::Foreign);
    }
    out::answer(args.json, &json(&report, took_s)?, || out::write(&text(&report, took_s)))?;
    Ok(if report.total() > 0 { ExitCode::from(FINDING) } else { ExitCode::SUCCESS })
}

/// Findings that get names.
pub(super) fn names(json: bool) -> usize {
    if json { 100_000 } else { 100 }
}

fn record_type(args: &Args, file: &LayoutFile) -> Result<usize> {
    let types = file.layout.types();
    let names: Vec<&str> = types.iter().map(|each| each.name.as_str()).collect();
    let place = match (&args.record_type, types) {
        (None, [_]) => Some(0),
        (named, _) => named.as_ref().and_then(|name| types.iter().position(|each| &each.name == name)),
    };
    let missing = || anyhow!("--type has to name one of the layout's types");
    place.ok_or_else(missing).hint(format!("there are {}", names.join(", ")))
}

fn json(report: &Report, took_s: f64) -> Result<Value> {
    let mut value = serde_json::to_value(report)?;
    value["took_s"] = took_s.into();
    Ok(value)
}

/// Each finding that has a name, and what they are together.
pub(super) fn findings(report: &Report) -> String {
    let mut text: String = report.findings.iter().map(line).collect();
    let named = report.findings.iter().map(|finding| match finding.kind {
        Kind::Foreign | Kind::Lost => finding.times.max(1),
        _ => 1,
    });
    if named.sum::<u64>() < report.total() && !report.findings.is_empty() {
        text.push_str("and more: --json names at most 100,000\n");
    }
    text.push_str(&sentence(report));
    text.push_str(&hints(report));
    text
}

/// Whether most rows are of files that nobody has named.
fn has_too_few_files(report: &Report) -> bool {
    report.found.get(&Kind::Foreign).is_some_and(|rows| *rows > report.records)
}

/// What to do about lost records, and about rows that no file has.
fn hints(report: &Report) -> String {
    let mut text = String::new();
    if report.found.contains_key(&Kind::Lost) {
        text.push_str(
            "hint: cdr load skips files that it has loaded: write the lost records to a new file (--json has their offsets) and load that\n",
        );
    }
    if has_too_few_files(report) {
        text.push_str("hint: give all files that were loaded into these tables\n");
    }
    text
}

pub(super) fn text(report: &Report, took_s: f64) -> String {
    let mut text = findings(report);
    let names: Vec<&str> = report.tables.iter().map(|(name, _)| name.as_str()).collect();
    let named = match names.as_slice() {
        [first, .., last] if names.len() > 4 => format!("{first} .. {last} ({} tables)", names.len()),
        _ => names.join(", "),
    };
    match &report.snapshot {
        Some(at) => text.push_str(&format!("{named} as of {at}")),
        None => text.push_str(&format!(
            "{named} without a snapshot, which not all of their engines have: what changed meanwhile may be among the findings"
        )),
    }
    text.push_str(&format!("; audit took {}\n", format::seconds((took_s * 100.0).round() / 100.0)));
    text
}

/// What is right, or how much of what is wrong.
fn sentence(report: &Report) -> String {
    let count = format::count;
    let plus = |records: u64, what: &str| match records {
        0 => String::new(),
        records => format!(" + {} {what}", count(records)),
    };
    let others = plus(report.other_types, "of other types");
    let retired = plus(report.retired, "retired") + &plus(report.unchecked, "not checked");
    if report.total() == 0 {
        let checked = if report.rejects_checked { "" } else { "; rejects files not checked (--rejects)" };
        let checked = if report.rejected == 0 { "" } else { checked };
        let but = match (report.retired, report.unchecked) {
            (0, 0) => "",
            (_, 0) => "; retired records are not checked one by one",
            _ => {
                "; those not checked were loaded before and have left the table: evenkeel cdr audit checks them"
            }
        };
        let corrected = match report.corrected {
            0 => String::new(),
            corrected => format!(" ({} of them corrected rejects)", count(corrected)),
        };
        return format!(
            "{} = {} stored{corrected}{retired} + {} rejected{others}: each once{checked}{but}\n",
            counted(report.records, "record"),
            count(report.lines),
            count(report.rejected)
        );
    }
    let found: Vec<String> =
        report.found.iter().map(|(kind, times)| format!("{} {kind}", count(*times))).collect();
    format!(
        "{}; of {} ({} to be stored{retired}, {} to be rejected{others}) and {}\n",
        found.join(", "),
        counted(report.records, "record"),
        count(report.lines),
        count(report.rejected),
        counted(report.rows, "row")
    )
}

/// `lost calls.cdr:151400 seq=758`.
fn line(finding: &Discrepancy) -> String {
    let mut text = finding.kind.to_string();
    if let Some((file, offset)) = finding.file.as_ref().zip(finding.offset) {
        text.push_str(&format!(" {}:{offset}", file.display()));
    }
    if let Some(table) = finding.table.as_ref().filter(|_| finding.kind != Kind::Altered) {
        text.push_str(&format!(" {table}"));
    }
    text.push_str(&format!(" {}", finding.key));
    match finding.kind {
        Kind::Doubled => text.push_str(&format!(" (stored {} times)", finding.times)),
        Kind::RejectedTwice => text.push_str(&format!(" ({} times)", finding.times)),
        Kind::Foreign if finding.times > 1 => text.push_str(&format!(" ({} rows)", finding.times)),
        _ => {}
    }
    for changed in &finding.changed {
        let value =
            |value: &Option<String>| value.as_ref().map_or("NULL".to_owned(), |text| format!("'{text}'"));
        text.push_str(&format!(
            "; {}: file {} table {}",
            changed.field,
            value(&changed.file),
            value(&changed.table)
        ));
    }
    // A value may have ends of lines, and a finding is one line.
    text.replace(['\n', '\t'], " ") + "\n"
}
