//! A data set as flags describe it, and how it gets onto a server.

use crate::console::Session;
use crate::failure::WithHint;
use crate::out;
use crate::progress::{ProgressEvent, ProgressEvents, View};
use anyhow::{Result, anyhow};
use evenkeel_core::random::Seed;
use evenkeel_lab::data;
use evenkeel_lab::data::dvdstore::Size;
use evenkeel_lab::data::tpcw::{Date, Scale};
use evenkeel_lab::data::{DataError, DataProgress, DataSet, DataSpec, Stamp, Via, dvdstore};
use evenkeel_os::Stop;
use evenkeel_site::server::Target;

const EBS_DEFAULT: u32 = 10;

/// NUM_ITEMS by default.
pub const ITEMS_DEFAULT: u32 = 10_000;

/// What data the private server holds.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Data")]
pub struct DataArgs {
    /// TPC-W NUM_EBS, with 2,880 customers each
    #[arg(long, value_name = "N", default_value_t = EBS_DEFAULT, value_parser = clap::value_parser!(u32).range(1..=10_000))]
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
    /// TPC-W NUM_ITEMS [default: 10000, or more if the smallest buffer pool of a profile needs it]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    pub items: Option<u32>,
    /// How rows are written: insert (one at a time, as an application does), script (the same with all indexes from the start, as
    /// in the published study), shuffled (in random order: the worst layout), load (LOAD DATA, indexes afterwards) or dump (as a
    /// dump is loaded)
    #[arg(long, value_name = "WAY", default_value = "load")]
    pub via: Via,
    /// Seed of the rows
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub data_seed: u64,
}

/// How a database is filled.
type Populate =
    fn(&Target, &DataSpec, &Stop, &mut dyn FnMut(DataProgress)) -> std::result::Result<Stamp, DataError>;

/// Fills a database. What a stop or a kill left half filled on a private server is filled again.
pub fn fill(
    session: &Session,
    target: &Target,
    wanted: &DataSpec,
    view: &mut View,
    is_private: bool,
) -> Result<Stamp> {
    let populate: Populate = if is_private { data::populate_own } else { data::populate };
    let mut events = ProgressEvents::for_data();
    let clock = evenkeel_os::clock::Clock::start();
    let mut rows = 0;
    let stamp = populate(target, wanted, &session.stop, &mut |progress| {
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
            return Err(anyhow!("--items is for TPC-W")).hint("DVD Store scales by --size");
        }
        return Ok(data.size.unwrap_or(Size::SMALL).into());
    }
    if data.size.is_some() {
        return Err(anyhow!("--size is for DVD Store"))
            .hint("TPC-W scales by --ebs and --items; for DVD Store give --workload dvdstore");
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
    Ok(spec(scale(ebs, items)?, rows.data_seed, rows.via, threads))
}

pub fn spec(set: impl Into<DataSet>, seed: u64, via: Via, threads_wanted: Option<usize>) -> DataSpec {
    let (set, today): (_, Option<Date>) = (set.into(), None);
    DataSpec { set, seed: Seed(seed), today, via, threads: threads_wanted.unwrap_or_else(threads).max(1) }
}

/// Threads that fill where nobody says how many: one for each CPU, 8 at most.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cpus| cpus.get().min(8))
}

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
    out::line(format!("  via       {}", stamp.via))?;
    out::line(format!("  rows      {rows}"))?;
    out::line(format!("  checksum  {:016x}", stamp.checksum()))
}
