//! Flags become what is done with each file.

use super::super::dispatch::BATCH;
use super::super::retire;
use super::flags::{Args, JobFlags};
use crate::command::Session;
use crate::failure::WithHint;
use anyhow::{Context, Result, anyhow};
use evenkeel_haul::dispatch::{self, NamePattern, Retire};
use evenkeel_haul::layout::{self, LayoutFile};
use evenkeel_haul::load::{Indexes, Options, Warnings};
use evenkeel_haul::table::Engine;
use evenkeel_haul::watch::Chain;
use evenkeel_site::server::Target;
use std::path::PathBuf;

/// Reads the layout, which has to be of one type of record.
pub fn read_layout(flags: &JobFlags) -> Result<LayoutFile> {
    let file = layout::read(&flags.layout).hint("evenkeel cdr convert --help shows a layout")?;
    match file.layout.types().len() {
        1 => Ok(file),
        count => Err(anyhow!("{} has {count} types of record", flags.layout.display()))
            .hint("a day's table has one: load by cdr load, and dispatch each table by cdr dispatch"),
    }
}

/// What is done with each file.
pub fn chain<'a>(
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
        duplicates: flags.duplicates.into(),
        options: Options {
            connections: 1,
            indexes: Indexes::Before,
            part_bytes: flags.transaction,
            warnings: Warnings::from(flags.warnings),
            again: false,
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
