//! `evenkeel cdr export`, its check, and loading the files again.

use super::convert::{Shown, view};
use super::server;
use crate::command::Session;
use crate::failure::{FINDING, WithHint};
use crate::progress::ProgressEvent;
use crate::{format, out};
use anyhow::{Result, anyhow};
use evenkeel_haul::export::{Export, Exported, Fault, Import, Manifest, compare, verify};
use evenkeel_os::clock::Clock;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
All tables are read from one snapshot. Each connection reads one table after the other. To open several, all writes are held back for
a moment (FLUSH TABLES WITH READ LOCK, which needs the privilege RELOAD); --connections 1 needs no lock. MyISAM and Aria have no
snapshots: their rows are as they were found.

LOAD DATA reads the lines with CHARACTER SET utf8mb4 FIELDS TERMINATED BY ';' ESCAPED BY '\\\\'; timestamps are in UTC.
export.json has the instant, rows, bytes and checksums. The folder gets its name once all tables are in it.

Examples:
  evenkeel cdr export mysql://app@db1/calls --table 'calls_*' --into /backup/calls
  evenkeel cdr audit mysql://app@db1/calls --export /backup/calls
  evenkeel cdr load mysql://app@db2/calls --export /backup/calls

Exit codes: 0 done; 2 wrong use, or a table or a file that cannot be read or written; 130, 143 stopped by Ctrl-C, SIGTERM.")]
pub struct Args {
    /// Server, as mysql://user@host:port/database or sandbox:NAME/DATABASE (default database there: cdr)
    #[arg(value_name = "URL")]
    pub target: String,
    /// Table, or a pattern of tables in quotes, as 'calls_*'; may be repeated
    #[arg(long = "table", value_name = "NAME", required = true)]
    pub tables: Vec<String>,
    /// Folder for the files, which must not exist yet
    #[arg(long, value_name = "DIR")]
    pub into: PathBuf,
    /// Connections at most, each for one table at a time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub connections: u16,
    /// Print what was written as JSON
    #[arg(long)]
    pub json: bool,
}

/// Writes the files of the tables, and prints their rows and bytes.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let target = server::named(session, &args.target)?;
    let export = Export {
        target: &target,
        tables: &args.tables,
        into: &args.into,
        connections: args.connections.into(),
        stop: &session.stop,
    };
    let (shown, clock) = (Shown::new(view(session, args.json)), Clock::start());
    let done = export.run(&|progress| shown.tell(progress))?;
    drop(shown);
    let took_s = clock.now().as_secs_f64();
    let value = json!({ "manifest": done, "took_s": took_s });
    out::answer(args.json, &value, || out::write(&text(&done, took_s)))?;
    Ok(ExitCode::SUCCESS)
}

fn text(done: &Manifest, took_s: f64) -> String {
    let mut text = String::new();
    for table in &done.tables {
        let bytes: u64 = table.files.iter().map(|file| file.bytes).sum();
        text.push_str(&format!(
            "{}: {} rows, {} bytes in {}{}\n",
            table.table,
            format::count(table.rows),
            format::count(bytes),
            format::counted(table.files.len(), "file"),
            if table.snapshot { "" } else { "; its engine has no snapshots: rows as they were found" }
        ));
    }
    let rows: u64 = done.tables.iter().map(|table| table.rows).sum();
    let per_s = format::count((rows as f64 / took_s.max(1e-3)) as u64);
    text.push_str(&format!("as of {} UTC; {}, {per_s} rows/s\n", done.at, format::seconds(took_s)));
    text
}

/// The tables of an export that are asked for; all of them, if none is.
fn chosen(folder: &Path, tables: &[String]) -> Result<Vec<Exported>> {
    let mut all = Manifest::read(folder)?.tables;
    all.retain(|exported| tables.is_empty() || tables.contains(&exported.table));
    match all.is_empty() {
        true => Err(anyhow!("{} holds none of these tables", folder.display()))
            .hint("leave --table out to take all of them"),
        false => Ok(all),
    }
}

/// `cdr audit --export`: compares the files of a folder, and the tables, with what was exported.
pub(super) fn check(
    session: &Session,
    target: &str,
    folder: &Path,
    (tables, json): (&[String], bool),
) -> Result<ExitCode> {
    let target = server::named(session, target)?;
    let all = chosen(folder, tables)?;
    let mut view = view(session, json);
    let mut faults: Vec<Fault> = Vec::new();
    for exported in &all {
        view.show(&ProgressEvent::Step { text: format!("reading the files of {}", exported.table) });
        faults.extend(verify(folder, exported, &session.stop)?);
        view.show(&ProgressEvent::Step { text: format!("reading {}", exported.table) });
        faults.extend(compare(&target, exported, &session.stop)?);
    }
    drop(view);
    let rows: u64 = all.iter().map(|exported| exported.rows).sum();
    let found = json!({ "tables": all.len(), "rows": rows, "faults": faults });
    let mut text = in_words(&faults);
    if faults.is_empty() {
        let (rows, tables) = (format::count(rows), format::counted(all.len(), "table"));
        text =
            format!("{rows} rows of {tables} are in the files, and in the tables, as they were exported\n");
    }
    ended(json, &found, &text, &faults)
}

fn in_words(faults: &[Fault]) -> String {
    faults.iter().map(|fault| format!("{}: {}\n", fault.of, fault.what)).collect()
}

fn ended(json: bool, found: &Value, text: &str, faults: &[Fault]) -> Result<ExitCode> {
    out::answer(json, found, || out::write(text))?;
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FINDING) })
}

/// `cdr load --export`: loads the tables that are not there, and compares them with the export.
pub(super) fn load(
    session: &Session,
    target: &str,
    folder: &Path,
    (table, compares, json): (Option<&String>, bool, bool),
) -> Result<ExitCode> {
    let all = chosen(folder, table.map_or(&[][..], std::slice::from_ref))?;
    let mut view = view(session, json);
    let mut step = |text: String| view.show(&ProgressEvent::Step { text });
    let clock = Clock::start();
    // All files are read before a row of any goes in.
    for exported in &all {
        step(format!("reading the files of {}", exported.table));
        if let Some(Fault { of, what }) = verify(folder, exported, &session.stop)?.first() {
            return Err(anyhow!("{}: {what}; nothing was loaded", folder.join(of).display()))
                .hint("copy the files again, or export the table again");
        }
    }
    let target = server::target(session, target)?;
    server::check(session, &target)?;
    let import = Import { target: &target, folder, compares, stop: &session.stop };
    let (mut loaded, mut faults, mut text) = (Vec::new(), Vec::new(), String::new());
    for exported in &all {
        let done = import.run(exported, &mut |path| step(format!("loading {}", path.display())));
        let done = done.map_err(server::explained)?;
        text.push_str(&match done.was_there {
            true => format!("{}: there already, as it was exported\n", done.table),
            false => format!("{}: {} rows\n", done.table, format::count(done.rows)),
        });
        faults.extend(done.fault.clone());
        loaded.push(done);
    }
    drop(view);
    let took_s = clock.now().as_secs_f64();
    text.push_str(&in_words(&faults));
    let compared = match (compares, faults.is_empty()) {
        (false, _) => "not compared with the export",
        (_, true) => "the rows in the tables are those that were exported",
        (_, false) => "the rows differ from the export, and the tables have not got their names",
    };
    text.push_str(&format!("{compared}; {}\n", format::seconds(took_s)));
    let found = json!({ "tables": loaded, "took_s": took_s });
    ended(json, &found, &text, &faults)
}
