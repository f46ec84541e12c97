//! `evenkeel cdr export`, and what was exported held against its tables.

use super::server;
use super::told::Shown;
use crate::clock::Clock;
use crate::command::{Session, mode};
use crate::failure::{FINDING, WithHint};
use crate::progress::{Mode, ProgressEvent, View};
use crate::{format, out};
use anyhow::{Result, anyhow};
use evenkeel_haul::export::{Export, Fault, Manifest, compare, manifests, verify};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

/// Flags of `evenkeel cdr export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
All tables are read as of one instant, over several connections, each of which takes ranges of their primary keys. For that all
writes are held back for a moment while the connections are opened (FLUSH TABLES WITH READ LOCK, which needs RELOAD); without that
privilege MariaDB's connections are opened until all stand at one position of its binary log. Tables without transactions, as
MyISAM's, are read as they are found, which is said.

Lines are as LOAD DATA reads them with CHARACTER SET utf8mb4 FIELDS TERMINATED BY ';' ESCAPED BY '\\\\'; timestamps are in UTC.
TABLE.export.json has the instant, rows, bytes and checksums. Files have their names once their table is whole; a rerun
leaves whole tables alone, each of its own instant, and makes the others as of a new one.

Examples:
  evenkeel cdr export mysql://app@db1/calls --table 'T_*' --into /backup/calls
  evenkeel cdr export sandbox:a/calls --table calls --into out --connections 8 --rows-per-file 1000000
  evenkeel cdr audit mysql://app@db1/calls --export /backup/calls

Other databases have their own clients, whose output goes through a pipe into `evenkeel cdr convert -`.

Exit codes: 0 done; 2 wrong use, or a table or a file that cannot be read or written; 130, 143 stopped by Ctrl-C, SIGTERM.")]
pub struct Args {
    /// Server, as mysql://user@host:port/database or sandbox:NAME/DATABASE (there: cdr, unless named)
    #[arg(value_name = "URL")]
    pub target: String,
    /// Table, or a pattern of tables in quotes, as 'T_*'; may come several times
    #[arg(long = "table", visible_alias = "tables", value_name = "NAME", required = true)]
    pub tables: Vec<String>,
    /// Folder for the files; made where there is none
    #[arg(long, value_name = "DIR")]
    pub into: PathBuf,
    /// Connections that read beside each other
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub connections: u16,
    /// Begin a new file after so many rows
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub rows_per_file: u64,
    /// What was written as JSON
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
        rows_per_file: args.rows_per_file,
        stop: &session.stop,
    };
    let view = View::new(if args.json && !session.quiet { Mode::Lines } else { mode(session, false) });
    let (shown, clock) = (Mutex::new(Shown::new(view)), Clock::start());
    let all =
        export.run(&|progress| shown.lock().unwrap_or_else(PoisonError::into_inner).export(progress))?;
    drop(shown);
    let took_s = clock.now().as_secs_f64();
    match args.json {
        true => {
            let tables: Vec<_> =
                all.iter().map(|(manifest, known)| json!({ "known": known, "manifest": manifest })).collect();
            out::line(serde_json::to_string_pretty(&json!({ "tables": tables, "took_s": took_s }))?)?;
        }
        false => out::write(&text(&all, took_s))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn text(all: &[(Manifest, bool)], took_s: f64) -> String {
    let mut text = String::new();
    for (manifest, known) in all {
        let bytes: u64 = manifest.files.iter().map(|file| file.bytes).sum();
        let before = if *known { ", whole before" } else { "" };
        let instant = &manifest.instant;
        let as_of = match instant.holds {
            true => format!("as of {} UTC ({})", instant.at, instant.how.explain()),
            false => format!(
                "{} has no snapshots: rows as they were found from {} UTC on",
                manifest.engine, instant.at
            ),
        };
        text.push_str(&format!(
            "{}: {} rows, {} bytes in {}{before}; {as_of}\n",
            manifest.table,
            format::count(manifest.rows),
            format::count(bytes),
            format::counted(manifest.files.len(), "file")
        ));
    }
    let new = all.iter().filter(|(_, known)| !known);
    let rows: u64 = new.map(|(manifest, _)| manifest.rows).sum();
    let per_s = format::count((rows as f64 / took_s.max(1e-3)) as u64);
    text.push_str(&format!("{}, {per_s} rows/s\n", format::seconds(took_s)));
    text
}

/// Holds the files of a folder against their manifests, and the tables against both.
pub(super) fn check(
    session: &Session,
    target: &str,
    folder: &Path,
    (tables, json): (&[String], bool),
) -> Result<ExitCode> {
    let target = server::named(session, target)?;
    let mut all = manifests(folder)?;
    all.retain(|manifest| tables.is_empty() || tables.contains(&manifest.table));
    if all.is_empty() {
        return Err(anyhow!("{} holds none of these tables", folder.display()))
            .hint("leave --table out to look at all of them");
    }
    let mut view = View::new(if json && !session.quiet { Mode::Lines } else { mode(session, false) });
    let mut faults: Vec<Fault> = Vec::new();
    for manifest in &all {
        view.show(&ProgressEvent::Step { text: format!("reading the files of {}", manifest.table) });
        faults.extend(verify(folder, manifest, &session.stop)?);
        view.show(&ProgressEvent::Step { text: format!("reading {}", manifest.table) });
        faults.extend(compare(&target, manifest, &session.stop, &mut |_| {})?);
    }
    drop(view);
    let rows: u64 = all.iter().map(|manifest| manifest.rows).sum();
    match json {
        true => out::line(serde_json::to_string_pretty(
            &json!({ "tables": all.len(), "rows": rows, "faults": faults }),
        )?)?,
        false => out::write(&told(&faults, all.len(), rows))?,
    }
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FINDING) })
}

fn told(faults: &[Fault], tables: usize, rows: u64) -> String {
    if faults.is_empty() {
        let (rows, tables) = (format::count(rows), format::counted(tables, "table"));
        return format!(
            "{rows} rows of {tables} are in the files as they were exported, and in the tables now\n"
        );
    }
    faults.iter().map(|fault| format!("{}: {}\n", fault.of, fault.what)).collect()
}
