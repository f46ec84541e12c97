//! `evenkeel data`: the data of TPC-W and of DVD Store on any server.

use super::progress_events::ProgressEvents;
use super::{Session, place};
use crate::failure::WithHint;
use crate::out;
use crate::progress::{Mode, ProgressEvent, View};
use anyhow::{Result, anyhow};
use clap::{Subcommand, ValueEnum};
use evenkeel_core::random::Seed;
use evenkeel_lab::data::dvdstore::{self, Size};
use evenkeel_lab::data::tpcw::{Date, Scale};
use evenkeel_lab::data::{self, DataSet, DataSpec, Stamp, Via};
use evenkeel_site::server::Target;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// How rows come in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ViaName {
    /// One row at a time with a commit every 1,000: the layout that users' own inserts give
    Insert,
    /// LOAD DATA, indexes afterwards
    #[default]
    Load,
    /// Dump what is there, drop it and load it again: the repair of a layout
    Dump,
}

/// The data set that is filled, checked or reloaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SetName {
    /// TPC-W, the web shop; its size by --ebs and --items
    #[default]
    Tpcw,
    /// DVD Store 2; its size by --size
    Dvdstore,
}

/// NUM_ITEMS where nobody asks for another.
pub const ITEMS_DEFAULT: u32 = 10_000;

/// What data the private server holds.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Data")]
pub struct DataArgs {
    /// TPC-W NUM_EBS: 2,880 customers each
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub ebs: u32,
    /// DVD Store: small (20,000 customers), medium (2 million), large, or a size such as 50MB or 2GB [default: small]
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Size>,
    /// The rest of it
    #[command(flatten)]
    pub rows: RowArgs,
}

/// What a data set is like besides its NUM_EBS.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Data")]
pub struct RowArgs {
    /// TPC-W NUM_ITEMS [default: 10000, or more where the smallest buffer pool of a profile asks for it]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    pub items: Option<u32>,
    /// How rows come in
    #[arg(long, value_enum, default_value_t = ViaName::Load)]
    pub via: ViaName,
    /// Seed of the rows
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub data_seed: u64,
}

/// Flags of `evenkeel data`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel data fill sandbox:demo --ebs 10 --items 10000
  evenkeel data fill mysql://root@db1/tpcw --ebs 100 --via insert
  evenkeel data fill sandbox:demo --workload dvdstore --size small
      into the database `dvdstore` of the sandbox
  evenkeel data check mysql://root@db1/tpcw
  evenkeel data check sandbox:demo/dvdstore
  evenkeel data reload mysql://root@db1/tpcw

Exit codes: 0 done; 2 wrong use, no server, or what it said; 130, 143 stopped by Ctrl-C,
SIGTERM: what is half filled says so to whoever looks at it, and is filled anew by --replace.")]
pub struct Args {
    /// What to do
    #[command(subcommand)]
    pub action: Action,
}

/// What to do with data.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Make the tables of a data set and fill them
    Fill {
        /// Server and database, as mysql://user@host/database or sandbox:NAME
        target: String,
        /// Data of which workloads
        #[arg(long, short, value_enum, default_value_t = SetName::Tpcw)]
        workload: SetName,
        /// What data
        #[command(flatten)]
        data: DataArgs,
        /// Drop a set that is there, whole or half-finished
        #[arg(long)]
        replace: bool,
        /// Threads [default: one for each CPU, 8 at most]
        #[arg(long)]
        threads: Option<usize>,
    },
    /// Say what set is there and whether it is whole
    Check {
        /// Server and database
        target: String,
    },
    /// Dump, drop and load again what is there: repairs a grown storage layout
    Reload {
        /// Server and database
        target: String,
        /// Folder for the dump, which is removed in the end, and kept where the reload fails [default: HOME/dumps]
        #[arg(long, value_name = "DIR")]
        dump_dir: Option<PathBuf>,
    },
}

/// Does what was asked of data.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let mut view = View::new(match (session.quiet, std::io::stderr().is_terminal()) {
        (true, _) => Mode::Quiet,
        (false, true) => Mode::Live,
        (false, false) => Mode::Lines,
    });
    match &args.action {
        Action::Fill { target, workload, data, replace, threads } => {
            let name = match workload {
                SetName::Tpcw => "tpcw",
                SetName::Dvdstore => dvdstore::NAME,
            };
            let target = place::target(session, target, name)?;
            let set = set(name, data, data.rows.items.unwrap_or(ITEMS_DEFAULT))?;
            if *replace {
                remove(&target, set)?;
            }
            let wanted = spec(set, data.rows.data_seed, via(data.rows.via), *threads);
            let stamp = fill(session, &target, &wanted, &mut view)?;
            drop(view);
            print_stamp(&stamp)?;
        }
        Action::Check { target } => print_stamp(&data::verify(&place::target(session, target, "")?, None)?)?,
        Action::Reload { target, dump_dir } => {
            let target = place::target(session, target, "")?;
            let dumps = dump_dir.clone().unwrap_or_else(|| session.dumps_dir());
            let stamp = reload(session, &target, &dumps, &mut view)?;
            drop(view);
            print_stamp(&stamp)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Drops a data set that is there; where there is none, there is nothing to drop.
fn remove(target: &Target, set: DataSet) -> Result<()> {
    let database = target.database.as_deref().unwrap_or(set.name());
    match data::remove(target, Some(database)) {
        Ok(()) | Err(data::DataError::Missing { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Reloads a database and shows how it goes.
fn reload(session: &Session, target: &Target, dumps: &Path, view: &mut View) -> Result<Stamp> {
    let mut events = ProgressEvents::for_data();
    let mut tell = |progress| {
        if let Some(event) = events.data(&progress) {
            view.show(&event);
        }
    };
    Ok(data::reload(target, None, dumps, threads(), &session.stop, &mut tell)?)
}

/// Fills a database and shows how it goes.
pub fn fill(session: &Session, target: &Target, wanted: &DataSpec, view: &mut View) -> Result<Stamp> {
    let mut events = ProgressEvents::for_data();
    let clock = crate::clock::Clock::start();
    let mut rows = 0;
    let stamp = data::populate(target, wanted, &session.dumps_dir(), &session.stop, &mut |progress| {
        rows = progress.rows_done;
        if let Some(event) = events.data(&progress) {
            view.show(&event);
        }
    })?;
    if rows > 0 {
        view.show(&ProgressEvent::Populated { rows, took_s: clock.now().as_secs_f64() });
    }
    Ok(stamp)
}

/// The data set that a workload asks, of the size that the flags say.
pub fn set(workload: &str, data: &DataArgs, items: u32) -> Result<DataSet> {
    if workload == dvdstore::NAME {
        if data.rows.items.is_some() {
            return Err(anyhow!("--items is TPC-W's")).hint("DVD Store scales by --size");
        }
        return Ok(data.size.unwrap_or(Size::SMALL).into());
    }
    if data.size.is_some() {
        return Err(anyhow!("--size is DVD Store's"))
            .hint("TPC-W scales by --ebs and --items; for the other say --workload dvdstore");
    }
    scale(data.ebs, items)
}

fn scale(ebs: u32, items: u32) -> Result<DataSet> {
    let scale = Scale::new(ebs, items).hint("TPC-W scales by --ebs (2,880 customers each) and --items")?;
    Ok(scale.into())
}

/// A TPC-W data set as the flags describe it.
pub fn wanted(ebs: u32, rows: &RowArgs, threads: Option<usize>) -> Result<DataSpec> {
    let items = rows.items.unwrap_or(ITEMS_DEFAULT);
    Ok(spec(scale(ebs, items)?, rows.data_seed, via(rows.via), threads))
}

/// A data set of this size.
pub fn spec(set: impl Into<DataSet>, seed: u64, via: Via, threads_wanted: Option<usize>) -> DataSpec {
    let (set, today): (_, Option<Date>) = (set.into(), None);
    DataSpec { set, seed: Seed(seed), today, via, threads: threads_wanted.unwrap_or_else(threads).max(1) }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cpus| cpus.get().min(8))
}

/// The way in by its flag.
pub fn via(name: ViaName) -> Via {
    match name {
        ViaName::Insert => Via::Insert,
        ViaName::Load => Via::Load,
        ViaName::Dump => Via::Dump,
    }
}

/// Says what a data set is, with its checksum.
pub fn print_stamp(stamp: &Stamp) -> std::io::Result<()> {
    let rows: u64 = stamp.tables.iter().map(|(_, content)| content.rows).sum();
    let size = match stamp.set {
        DataSet::Tpcw(scale) => format!("NUM_EBS {}, NUM_ITEMS {}", scale.ebs(), scale.items()),
        DataSet::DvdStore(size) => {
            format!("size {size}, {} customers, {} products", size.customers(), size.products())
        }
    };
    let (title, seed, today) = (stamp.set.title(), stamp.seed.0, stamp.today);
    out::line(format!("{title} data: {size}, seed {seed}, of {today}"))?;
    out::line(format!("  way in    {}", stamp.via))?;
    out::line(format!("  rows      {rows}"))?;
    out::line(format!("  checksum  {:016x}", stamp.checksum()))
}
