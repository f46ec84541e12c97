//! `evenkeel cdr watch`.

mod flags;
mod line;
mod round;
mod steps;

use super::dispatch::BATCH;
use super::retire;
use crate::command::Session;
use crate::config::units;
use crate::failure::WithHint;
use crate::progress::{Mode, View};
use anyhow::{Context, Result, anyhow};
use evenkeel_haul::dispatch::{NamePattern, Retire};
use evenkeel_haul::layout::LayoutFile;
use evenkeel_haul::load::{Indexes, Options};
use evenkeel_haul::table::Engine;
use evenkeel_haul::watch::{Chain, Folder};
use evenkeel_haul::{dispatch, layout};
use evenkeel_site::server::Target;
pub use flags::Args;
use flags::JobFlags;
use std::path::PathBuf;
use std::process::ExitCode;

/// Watches until it is stopped, or once.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let settle = units::duration(&args.settle).context("--settle")?;
    let wait = args.wait.as_deref().map(|text| units::positive(text, "--wait")).transpose()?;
    let folder = Folder::new(&args.folder, &args.pattern, settle)?;
    let layout = read_layout(&args.job)?;
    let target = super::server::target(session, &args.target)?;
    let chain = chain(session, args, &layout, &target)?;
    std::fs::create_dir_all(&chain.rejects)
        .with_context(|| format!("making the folder {} for rejects", chain.rejects.display()))
        .hint("name another folder by --rejects")?;
    // Shows nothing but that a statement waits for a lock of others.
    let _view = View::new(Mode::Lines);
    round::Watch::new(session, args, (chain, folder), wait)?.run()
}

/// Reads the layout, which has to be of one type of record.
fn read_layout(flags: &JobFlags) -> Result<LayoutFile> {
    let file = layout::read(&flags.layout).hint("evenkeel cdr convert --help shows a layout")?;
    match file.layout.types().len() {
        1 => Ok(file),
        count => Err(anyhow!("{} has {count} types of record", flags.layout.display()))
            .hint("a day's table has one: load by cdr load, and dispatch each table by cdr dispatch"),
    }
}

/// What is done with each file.
fn chain<'a>(
    session: &'a Session,
    args: &Args,
    file: &'a LayoutFile,
    target: &'a Target,
) -> Result<Chain<'a>> {
    let flags = &args.job;
    let table = flags.table.tables(file, Engine::InnoDb)?.into_iter().next().context("a type of record")?;
    let names = NamePattern::parse(&flags.name, &table.name)?;
    let keep_days = flags.keep.as_deref().map(|text| retire::days(text, "--keep")).transpose()?;
    let retire = |keep_days| Retire {
        table: table.name.clone(),
        names: names.clone(),
        keep_days,
        today: None,
        dry_run: false,
    };
    Ok(Chain {
        file,
        target,
        rejects: args.rejects.clone().unwrap_or_else(|| PathBuf::from(format!("{}.rejected", table.name))),
        duplicates: flags.duplicates,
        options: Options {
            connections: 1,
            indexes: Indexes::Before,
            part_bytes: flags.transaction,
            warnings: flags.warnings,
            again: false,
            max_rejects: flags.max_rejects,
            audited: !flags.no_audit,
        },
        audit: !flags.no_audit,
        retire: keep_days.map(retire),
        dispatch: dispatch::Job {
            table: table.name.clone(),
            by: flags.by.clone(),
            names,
            batch: BATCH,
            audit: true,
            days_max: flags.max_days,
        },
        table,
        stop: &session.stop,
    })
}
