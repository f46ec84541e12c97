//! `evenkeel cdr unload`.

use super::convert::{DUPLICATES, counted, one_of};
use super::server;
use crate::command::Session;
use crate::failure::WithHint;
use crate::out;
use anyhow::Result;
use evenkeel_haul::convert::Duplicates;
use evenkeel_haul::layout;
use evenkeel_haul::load::{Indexes, Job, MaxRejects, Options, Warnings};
use evenkeel_haul::table::Engine;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicU64;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel cdr unload mysql://app@db1/billing calls-0801.cdr --layout calls.toml --table calls

The rows that a file brought are found by the layout's key and compared with the file: if one of them is missing or differs, nothing is
taken out. Rows and manifest go in one transaction; the file can be loaded again afterwards.

Exit codes: 0 done; 2 a file was not loaded, a row differs, or wrong use; 130, 143 stopped.")]
pub struct Args {
    /// Server, as for `cdr load`
    #[arg(value_name = "URL")]
    pub target: String,
    /// Files that were loaded, packed or not
    #[arg(value_name = "FILE", required = true)]
    pub inputs: Vec<String>,
    /// Layout by which they were loaded
    #[arg(long, short, value_name = "FILE")]
    pub layout: PathBuf,
    #[command(flatten)]
    pub table: server::Flags,
    /// As when they were loaded
    #[arg(long, value_name = "WHAT", default_value = "refuse", value_parser = one_of(DUPLICATES))]
    pub duplicates: Duplicates,
    /// Print what was taken out as JSON
    #[arg(long)]
    pub json: bool,
}

/// Takes them out, one after the other.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let file = layout::read(&args.layout).hint("evenkeel cdr convert --help shows a layout")?;
    let target = server::named(session, &args.target)?;
    server::check(session, &target)?;
    let job = Job {
        file: &file,
        inputs: super::convert::files(&args.inputs)?,
        target: &target,
        tables: args.table.tables(&file, Engine::InnoDb)?,
        rejects: Path::new(""),
        corrected: None,
        duplicates: args.duplicates,
        options: Options {
            connections: 1,
            indexes: Indexes::Before,
            part_bytes: 0,
            warnings: Warnings::End,
            again: false,
            max_rejects: MaxRejects::Count(u64::MAX),
            audited: false,
        },
        sent: &AtomicU64::new(0),
        stop: &session.stop,
    };
    let done = job.unload().map_err(server::explained)?;
    out::answer(args.json, &serde_json::to_value(&done)?, || {
        done.iter().try_for_each(|file| {
            out::line(format!("{}: {} taken out", file.path.display(), counted(file.rows, "row")))
        })
    })?;
    Ok(ExitCode::SUCCESS)
}
