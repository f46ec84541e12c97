//! Flags become what is done with each file.

use super::super::convert::DuplicatesWord;
use super::super::dispatch::{WayWord, check_null_day};
use super::super::load::WarningsWord;
use super::super::{retire, tables};
use crate::command::Session;
use crate::config::units;
use crate::failure::WithHint;
use anyhow::{Context, Result, anyhow};
use evenkeel_haul::dispatch::{self, NamePattern, Retire};
use evenkeel_haul::layout::{self, LayoutFile};
use evenkeel_haul::load::{Indexes, Options, Warnings};
use evenkeel_haul::watch::Chain;
use evenkeel_site::server::Target;
use std::path::PathBuf;

/// Flags that say what is done with a file.
#[derive(Debug, clap::Args)]
pub struct JobFlags {
    /// Where the fields are, as of `cdr convert`
    #[arg(long, short, value_name = "FILE")]
    pub layout: PathBuf,
    #[command(flatten)]
    pub table: tables::Flags,
    /// The table's column that has the day: a DATE or DATETIME
    #[arg(long, value_name = "COLUMN")]
    pub by: String,
    /// How records are moved to day tables
    #[arg(long, value_name = "WAY", default_value = "insert")]
    pub way: WayWord,
    /// How day tables are called
    #[arg(long, value_name = "PATTERN", default_value = "{table}_{day}")]
    pub name: String,
    /// Table for records without a date; without it they stay
    #[arg(long, value_name = "TABLE")]
    pub null_day: Option<String>,
    /// Records that one transaction moves, about
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub batch: u64,
    /// Dispatch nothing of a table with records of more days: some dates may be wrong
    #[arg(long, value_name = "N", default_value_t = 62)]
    pub max_days: usize,
    /// Days or weeks whose tables stay, as 90d or 26w; without it all stay
    #[arg(long, value_name = "TIME")]
    pub keep: Option<String>,
    /// Bytes of a file in one transaction, at least a block of 1M; memory holds a few times as many
    #[arg(long, value_name = "SIZE", default_value = "32M")]
    pub transaction: String,
    /// What becomes of a record that the server does not store as it was sent
    #[arg(long, value_name = "WHAT", default_value = "end")]
    pub warnings: WarningsWord,
    /// What becomes of a record whose key and bytes came before in its file
    #[arg(long, value_name = "WHAT", default_value = "refuse")]
    pub duplicates: DuplicatesWord,
    /// Take records that end within their last field
    #[arg(long)]
    pub ragged: bool,
}

/// Reads the layout, which has to be of one type of record.
pub fn read_layout(flags: &JobFlags) -> Result<LayoutFile> {
    let mut file = layout::read(&flags.layout).hint("evenkeel cdr convert --help shows a layout")?;
    if flags.ragged {
        file.layout = file.layout.ragged(true);
    }
    match file.layout.types().len() {
        1 => Ok(file),
        count => Err(anyhow!("{} has {count} types of record", flags.layout.display()))
            .hint("a day's table has one: load by cdr load, and dispatch each table by cdr dispatch"),
    }
}

/// What is done with each file.
pub fn chain<'a>(
    session: &'a Session,
    args: &super::Args,
    file: &'a LayoutFile,
    target: &'a Target,
) -> Result<Chain<'a>> {
    let flags = &args.job;
    let table = flags.table.tables(file)?.into_iter().next().context("a type of record")?;
    let names = NamePattern::parse(&flags.name, &table.name)?;
    check_null_day(flags.null_day.as_deref(), &table.name, &names)?;
    let part_bytes = units::bytes(&flags.transaction).context("--transaction")?;
    let keep_days = flags.keep.as_deref().map(retire::days).transpose()?;
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
        rejects: args.rejects.clone().unwrap_or_else(|| PathBuf::from(format!("{}.rejects", table.name))),
        duplicates: flags.duplicates.into(),
        options: Options {
            connections: 1,
            bulk: false,
            indexes: Indexes::Before,
            part_bytes: part_bytes.clamp(1, 1 << 30),
            warnings: Warnings::from(flags.warnings),
            again: false,
        },
        retire: keep_days.map(retire),
        dispatch: dispatch::Job {
            table: table.name.clone(),
            by: flags.by.clone(),
            way: flags.way.into(),
            names,
            indexes_after: false,
            null_day: flags.null_day.clone(),
            batch: flags.batch,
            audit: true,
            days_max: flags.max_days,
        },
        table,
        stop: &session.stop,
    })
}
