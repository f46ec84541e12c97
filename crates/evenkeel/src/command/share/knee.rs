//! `evenkeel share knee`: the latency threshold from the knee of the storage itself, which is only read; and what I/Os cost,
//! for which it is overwritten where a flag says so.

use super::backing;
use crate::command::{Session, mode};
use crate::config::share::{DiskConfig, ShareConfig};
use crate::config::units;
use crate::failure::{NOT_VALID, WithHint};
use crate::progress::{ProgressEvent, View};
use crate::share::knee::costs::{self, CostsPlan};
use crate::share::knee::{
    DEPTH_MOST, Measurement, Storage, Sweep, SweepPlan, caveats, json, storage_caveats, sweep, text,
};
use crate::{format, out, signals};
use anyhow::{Context, Result, anyhow};
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_core::share::knee::{Judgment, Verdict, judge};
use evenkeel_core::share::{Costs, SIZES_MAX};
use evenkeel_sense::memory::MemoryBounds;
use evenkeel_share::backing::FileError;
use evenkeel_share::{ALIGNMENT, DiskPlan, Engine, Handle, Plan};
use serde_json::{Value, json as object};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::ExitCode;

/// Measures, and says the threshold or why there is none.
/// Errors: wrong flags, storage that cannot be read.
pub fn run(session: &Session, args: &KneeArgs) -> Result<ExitCode> {
    if args.costs {
        return run_costs(session, args);
    }
    let plan = args.plan()?;
    let disk = args.open(plan.block, true)?;
    let storage = args.storage(&disk);
    let Some(swept) = measure(session, &plan, disk)? else {
        return Ok(interrupted(session));
    };
    let judgment = judge(&swept.points())
        .ok_or_else(|| anyhow!("no read ended in a step of {}", args.duration))
        .hint("measure for longer: --duration")?;
    let caveats = caveats(&storage, &swept, plan.block);
    let measured = Measurement { plan: &plan, sweep: &swept, judgment: &judgment, caveats: &caveats };
    let value = json(&measured, args.as_json(&storage));
    out::answer(args.json, &value, || out::painted(&text(&measured, crate::command::look())))?;
    Ok(exit_code(&judgment))
}

/// A figure of rounds that disagree is shown, but a script is not to use it.
fn exit_code(judgment: &Judgment) -> ExitCode {
    match judgment.verdict {
        Verdict::Found => ExitCode::SUCCESS,
        Verdict::NotLevel | Verdict::Flat | Verdict::Unsteady => ExitCode::from(NOT_VALID),
    }
}

fn measure(session: &Session, plan: &SweepPlan, disk: DiskPlan) -> Result<Option<Sweep>> {
    let mut view = View::new(mode(session, false));
    let mut tell = |text: String, left_s: f64| {
        let text = format!("{text}, {} left", format::seconds(left_s.ceil()));
        view.show(&ProgressEvent::Step { text });
    };
    on_engine(disk, |disk| sweep(disk, plan, &session.stop, &mut tell))
}

/// Rounds below which a standard error says little.
const ROUNDS_LEAST: u32 = 4;

/// Standard error of each throughput that is good enough.
const ERROR: f64 = 0.02;

fn run_costs(session: &Session, args: &KneeArgs) -> Result<ExitCode> {
    let plan = costs_plan(args)?;
    let largest = plan.reads.iter().copied().max().unwrap_or_default();
    let disk = args.open(largest.into(), !args.more.overwrite)?;
    let storage = args.storage(&disk);
    let mut view = View::new(mode(session, false));
    let mut tell = |text: String| view.show(&ProgressEvent::Step { text });
    let Some(found) = on_engine(disk, |disk| costs::measure(disk, &plan, &session.stop, &mut tell))? else {
        return Ok(interrupted(session));
    };
    drop(view);
    let caveats = storage_caveats(&storage);
    let value = costs::json(&found, &plan, &caveats, args.as_json(&storage))?;
    let text = costs::text(&found, &plan, &caveats, crate::command::look())?;
    out::answer(args.json, &value, || out::painted(&text))?;
    let (_, error) = found.tables()?;
    let is_known = error <= std::f64::consts::SQRT_2 * plan.error;
    Ok(if is_known { ExitCode::SUCCESS } else { ExitCode::from(NOT_VALID) })
}

fn costs_plan(args: &KneeArgs) -> Result<CostsPlan> {
    let flags = &args.more;
    let size = |text: &String| Ok(u32::try_from(args.block(text, "--sizes")?)?);
    let mut sizes: Vec<u32> = flags.sizes.iter().map(size).collect::<Result<_>>()?;
    sizes.sort_unstable();
    sizes.dedup();
    if !(1..SIZES_MAX).contains(&sizes.len()) {
        return Err(anyhow!("--sizes has {} sizes", sizes.len())).hint("1 to 7, as 4k,16k,64k,256k");
    }
    let time = |text: &str, flag: &'static str| -> Result<Nanos> { units::duration(text).context(flag) };
    Ok(CostsPlan {
        writes: if flags.overwrite { sizes.clone() } else { Vec::new() },
        reads: sizes,
        depth_most: args.depth_max,
        step: args.step()?,
        rounds: args.rounds.max(ROUNDS_LEAST),
        error: ERROR,
        limit: time(&flags.limit, "--limit")?,
        fill: time(&flags.fill, "--fill")?,
        seed: SEED,
    })
}

/// Measures on an engine in front of a disk.
fn on_engine<T>(disk: DiskPlan, measure: impl FnOnce((Handle, u64)) -> Result<T>) -> Result<T> {
    let bytes = disk.backing.bytes();
    // An infinite window: the loop alone says how many are outstanding. Nobody comes by a socket.
    let engine =
        Engine::start(Plan { disks: vec![disk], window: f64::INFINITY, costs: Costs::default(), memory: 0 })?;
    match measure((engine.handle(), bytes)) {
        Ok(swept) => {
            engine.stop()?;
            Ok(swept)
        }
        Err(error) => {
            // An engine waits for its last read, and storage that answers no more would keep the message for ever. There
            // is nothing to flush.
            std::mem::forget(engine);
            Err(error)
        }
    }
}

/// Says that a measurement was stopped, and gives its exit code.
fn interrupted(session: &Session) -> ExitCode {
    if !session.quiet {
        out::tell("stopped; there is no result before all rounds have ended\n");
    }
    signals::exit_code()
}

/// Depths below 4 have no curve.
const DEPTH_LEAST: u32 = 4;
/// Reads are whole sectors of any disk.
const SECTOR: u64 = 512;
/// Largest read that is tried, bytes.
const BLOCK_MOST: u64 = 16 << 20;
/// Buffers of all reads that are outstanding.
const MEMORY_MOST: u64 = 1 << 30;
/// Of the random places.
pub const SEED: Seed = Seed(1);
/// Most rounds that can be asked for.
const ROUNDS_MOST: u32 = 100;

/// Flags of `evenkeel share knee`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel share knee --backing /dev/sdb --direct
  evenkeel share knee --backing /dev/nvme1n1 --direct --depth-max 256 --duration 3s --rounds 5
  evenkeel share knee --backing disk.img --direct --block 4k --json
  evenkeel share array test.sim && evenkeel share knee --backing disk.img --simulated test.sim
  evenkeel share knee --backing /dev/sdb --direct --costs                   what reads cost, by size
  evenkeel share knee --backing /dev/sdb --direct --costs --overwrite       and writes: DESTROYS what is there

Reads at random places with 1, 2, 4 ... I/Os outstanding, in rounds up and down. The threshold is the latency at which the \
storage reaches 0.9 of its peak throughput, shown with its range over the rounds. With --costs it measures how many I/Os of \
each size the saturated storage completes per second, and prints the settings with which hosts share its time instead of its \
I/Os. It only reads, unless --overwrite is given. The storage may hold data, but must not be served or mounted meanwhile. \
Measure common storage from one host, while the other hosts do not use it.

Exit codes: 0 found; 2 wrong use; 3 there is no threshold, rounds disagree, or a cost is less
exact than 3 % (the figures are shown nevertheless); 130, 143 stopped by Ctrl-C, SIGTERM,
without a result.")]
pub struct KneeArgs {
    /// File or block device to read; as large as the data that will be there
    #[arg(long, value_name = "PATH")]
    pub backing: PathBuf,
    /// Bypass the page cache
    #[arg(long)]
    pub direct: bool,
    /// Take as long as the simulated array of this file (`evenkeel share array`)
    #[arg(long, value_name = "FILE")]
    pub simulated: Option<PathBuf>,
    /// Bytes of a read: what the database reads, 16k for InnoDB's pages
    #[arg(long, value_name = "SIZE", default_value = "16k")]
    pub block: String,
    /// Largest number of outstanding reads, a power of two
    #[arg(long, value_name = "N", default_value_t = 128)]
    pub depth_max: u32,
    /// Measured time at each depth of a round; with --costs the shortest time for each size
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub duration: String,
    /// Rounds: how often each depth is measured; with --costs at least so often for each size
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub rounds: u32,
    /// Measure the cost of I/Os by size instead of the threshold
    #[arg(long, conflicts_with = "block")]
    pub costs: bool,
    /// What --costs takes
    #[command(flatten)]
    pub more: CostsFlags,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of `evenkeel share knee --costs`.
#[derive(Debug, clap::Args)]
pub struct CostsFlags {
    /// With --costs: measure writes too. DESTROYS the data on the storage
    #[arg(long, requires = "costs")]
    pub overwrite: bool,
    /// With --costs: sizes to measure; 16k, whose read is the unit of cost, is always included
    #[arg(
        long,
        value_name = "SIZE,...",
        requires = "costs",
        default_value = "4k,16k,64k,256k",
        value_delimiter = ','
    )]
    pub sizes: Vec<String>,
    /// With --costs: time limit for reads, and the same again for writes
    #[arg(long, value_name = "TIME", requires = "costs", default_value = "60s")]
    pub limit: String,
    /// With --overwrite: how long to write before measuring; long enough to fill the write cache
    #[arg(long, value_name = "TIME", requires = "overwrite", default_value = "5s")]
    pub fill: String,
}

impl KneeArgs {
    /// What is measured, if it can be.
    pub fn plan(&self) -> Result<SweepPlan> {
        let measure = self.step()?;
        let depths = (0..=self.depth_max.ilog2()).map(|power| 1 << power).collect();
        let block = self.block(&self.block, "--block")?;
        Ok(SweepPlan { depths, rounds: self.rounds, measure, block, seed: SEED })
    }

    /// The length of a step, if it, the depth and the rounds are possible.
    pub fn step(&self) -> Result<Nanos> {
        if !self.depth_max.is_power_of_two() || !(DEPTH_LEAST..=DEPTH_MOST).contains(&self.depth_max) {
            let near = self.depth_max.clamp(DEPTH_LEAST, DEPTH_MOST);
            let near = 1 << near.ilog2();
            return Err(anyhow!(
                "--depth-max {} is not a power of two between {DEPTH_LEAST} and {DEPTH_MOST}",
                self.depth_max
            ))
            .hint(format!("depths are doubled: --depth-max {near}"));
        }
        if !(1..=ROUNDS_MOST).contains(&self.rounds) {
            return Err(anyhow!("--rounds must be between 1 and {ROUNDS_MOST}, and is {}", self.rounds))
                .hint("3 show how far rounds agree");
        }
        let measure = units::duration(&self.duration).context("--duration")?;
        if !(Nanos::from_millis(50)..=Nanos::from_secs(600)).contains(&measure) {
            return Err(anyhow!("--duration must be between 50ms and 10m, and is {:?}", self.duration))
                .hint("1s does for flash, 3s for disks");
        }
        Ok(measure)
    }

    /// Bytes of an I/O, if such can be made.
    pub fn block(&self, text: &str, flag: &'static str) -> Result<u64> {
        let block = units::bytes(text).context(flag)?;
        let least = if self.direct { ALIGNMENT as u64 } else { SECTOR };
        if !block.is_multiple_of(least) || !(least..=BLOCK_MOST).contains(&block) {
            let past = if self.direct { " with --direct" } else { "" };
            let most = format::bytes(BLOCK_MOST);
            return Err(anyhow!("{flag} {text:?}: up to {most}, a multiple of {least} bytes{past}"))
                .hint("what the database reads: 16k for InnoDB");
        }
        if block * u64::from(self.depth_max) > MEMORY_MOST {
            return Err(anyhow!("{} reads of {text} take too much memory", self.depth_max))
                .hint(format!("{flag} times --depth-max is up to {}", format::bytes(MEMORY_MOST)));
        }
        Ok(block)
    }

    /// Opens the storage; nothing is made where there is none.
    pub fn open(&self, block: u64, read_only: bool) -> Result<DiskPlan> {
        let mut disk = DiskConfig::new("knee", &self.backing);
        (disk.read_only, disk.direct, disk.simulated) = (read_only, self.direct, self.simulated.clone());
        let opened = backing::open(&ShareConfig::new("knee", vec![disk]));
        let is_missing = |error: &anyhow::Error| {
            let is = |cause: Option<&FileError>| {
                matches!(cause, Some(FileError::Missing(_) | FileError::NotAFile(_)))
            };
            error.chain().any(|cause| is(cause.downcast_ref()))
        };
        let disks = match opened {
            Err(error) if is_missing(&error) => {
                Err(error).hint("name an existing file or block device; it is only read")?
            }
            opened => opened?.0,
        };
        let disk = disks.into_iter().next().context("there is one disk")?;
        let (blocks, deepest) = (disk.backing.bytes() / block, u64::from(self.depth_max));
        if blocks < deepest {
            let path = self.backing.display();
            return Err(anyhow!("too small: {path} has {blocks} blocks, for {deepest} reads outstanding"))
                .hint("a larger file, or a smaller --depth-max or --block");
        }
        Ok(disk)
    }

    pub fn storage(&self, disk: &DiskPlan) -> Storage {
        let found = std::fs::metadata(&self.backing).ok().filter(std::fs::Metadata::is_file);
        Storage {
            bytes: disk.backing.bytes(),
            // The unit of st_blocks, whatever the file system's blocks are.
            allocated: found.map(|found| found.blocks() * 512),
            direct: self.direct,
            simulated: self.simulated.is_some(),
            executor: disk.backing.executor(),
            free: MemoryBounds::of_process(std::process::id()).free(),
        }
    }

    pub fn as_json(&self, storage: &Storage) -> Value {
        object!({
            "path": self.backing, "bytes": storage.bytes, "direct": storage.direct, "simulated": self.simulated,
            "executor": storage.executor,
        })
    }
}
