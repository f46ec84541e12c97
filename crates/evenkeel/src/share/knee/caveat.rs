//! What there is to doubt about a knee.

use super::client::{Client, Kind, Step, Times};
use crate::format;
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_core::caveat::{ALLOCATED_LEAST, Caveat, READ_LEAST_S, READS_MIN, Severity};
use evenkeel_core::histogram::Histogram;
use evenkeel_core::random::{Random, Seed};
use evenkeel_core::share::knee::Point;
use evenkeel_os::Stop;
use evenkeel_share::Handle;

const THREADS: u32 = 16;

#[derive(Clone, Debug, PartialEq)]
pub struct Storage {
    pub bytes: u64,
    /// Bytes that the file has on its file system; `None` for a device.
    pub allocated: Option<u64>,
    pub direct: bool,
    /// A simulated array gave the times.
    pub simulated: bool,
    pub executor: String,
    /// Memory that the page cache may take, in bytes.
    pub free: Option<u64>,
}

/// It is a knee of these reads only.
pub fn reads_only(block: u64) -> Caveat {
    let text = format!("a knee of reads of {}: writes and larger ones may cost more", format::bytes(block));
    Caveat::new("reads-only", Severity::Note, text).with("block_bytes", block as f64)
}

/// Who else used the storage meanwhile is not known.
fn others_unknown() -> Caveat {
    let text = "what other hosts did on the storage is in the figures: measure it alone";
    Caveat::new("others-unknown", Severity::Note, text)
}

/// The page cache may have answered. Where the free memory is not known, nobody knows whether all of the storage fits into it.
pub fn page_cache(bytes: u64, free: Option<u64>) -> Caveat {
    let size = match free.map(|free| bytes <= free) {
        Some(true) => "and all of it fits into free memory",
        Some(false) => "as far as memory goes",
        None => "as far as it goes",
    };
    let text = format!("the page cache answers, {size}: --direct measures the storage");
    Caveat::new("page-cache", Severity::Doubt, text)
        .with("storage_bytes", bytes as f64)
        .with("free_bytes", free.map(|free| free as f64))
}

/// Parts of the file are nowhere on the storage, and read at once.
fn holes(allocated: u64, bytes: u64) -> Option<Caveat> {
    let least = ALLOCATED_LEAST * bytes as f64;
    let text = format!(
        "the file is {} long, but only {} is allocated: holes are read without I/O; fill the file first",
        format::bytes(bytes),
        format::bytes(allocated)
    );
    ((allocated as f64) < least).then(|| {
        Caveat::new("holes", Severity::Doubt, text)
            .with("allocated_bytes", allocated as f64)
            .with("file_bytes", bytes as f64)
            .with("least_bytes", least)
    })
}

/// Answers came faster than storage gives them: from the mean latency at the least depth.
fn memory(latency_s: f64) -> Option<Caveat> {
    let text = format!(
        "one read takes {}: that is as fast as memory, too fast for storage",
        format::time(latency_s * 1e3)
    );
    (latency_s < READ_LEAST_S).then(|| {
        Caveat::new("memory", Severity::Doubt, text)
            .with("latency_s", latency_s)
            .with("least_s", READ_LEAST_S)
    })
}

/// A depth was measured with too few reads: from those of its shortest step.
fn few_reads(depth: u32, reads: u64) -> Option<Caveat> {
    let counted = format::counted(reads as usize, "read");
    let text = format!("{counted} in a step with {depth} outstanding: measure for longer, --duration");
    (reads < READS_MIN).then(|| {
        Caveat::new("few-reads", Severity::Doubt, text)
            .with("depth", f64::from(depth))
            .with("reads", reads as f64)
            .with("least_reads", READS_MIN as f64)
    })
}

/// Fewer reads reached the storage at once than were outstanding.
fn threads(depth_max: u32) -> Option<Caveat> {
    let text = format!(
        "the kernel does not allow io_uring: threads did the I/O, at most {THREADS} at once; larger depths were not measured"
    );
    (depth_max > THREADS).then(|| {
        Caveat::new("threads", Severity::Doubt, text)
            .with("threads", f64::from(THREADS))
            .with("depth_max", f64::from(depth_max))
    })
}

/// All that there is to doubt, the general last.
pub fn caveats(storage: &Storage, sweep: &Sweep, block: u64) -> Vec<Caveat> {
    let mut found = Vec::new();
    if !storage.simulated {
        found.extend(of_storage(storage));
        found.extend(of_speed(storage, sweep));
    }
    let least = sweep.rounds.iter().flatten().min_by_key(|step| step.reads);
    found.extend(least.and_then(|step| few_reads(step.point.depth, step.reads)));
    found.extend([reads_only(block), others_unknown()]);
    found
}

/// What there is to doubt about costs, whatever was measured.
pub fn storage_caveats(storage: &Storage) -> Vec<Caveat> {
    let mut found = if storage.simulated { Vec::new() } else { of_storage(storage) };
    found.push(others_unknown());
    found
}

fn of_storage(storage: &Storage) -> Vec<Caveat> {
    let cached = (!storage.direct).then(|| page_cache(storage.bytes, storage.free));
    let holes = storage.allocated.and_then(|allocated| holes(allocated, storage.bytes));
    cached.into_iter().chain(holes).collect()
}

fn of_speed(storage: &Storage, sweep: &Sweep) -> Vec<Caveat> {
    let firsts = sweep.rounds.iter().filter_map(|round| round.first());
    let latency_s = firsts.map(|step| step.point.latency_s).fold(f64::INFINITY, f64::min);
    let depths = sweep.rounds.iter().flatten().map(|step| step.point.depth);
    let by_threads = storage.executor.contains("threads");
    let depth_max = depths.max().filter(|_| by_threads);
    memory(latency_s).into_iter().chain(depth_max.and_then(threads)).collect()
}

/// How a caveat begins in the terminal: whether it goes with every measurement, or speaks against this one.
pub fn label(caveat: &Caveat) -> &'static str {
    if caveat.severity == Severity::Note { "note" } else { "warning" }
}

#[derive(Clone, Debug, PartialEq)]
pub struct SweepPlan {
    /// I/Os outstanding, in rising order.
    pub depths: Vec<u32>,
    pub rounds: u32,
    pub measure: Nanos,
    pub block: u64,
    pub seed: Seed,
}

impl SweepPlan {
    /// Reads that are not counted, at the beginning of a step: a quarter more.
    fn settle(&self) -> Nanos {
        Nanos(self.measure.0 / 4)
    }

    /// How long all of it takes at least, in seconds.
    fn seconds(&self) -> f64 {
        self.steps() as f64 * (self.measure + self.settle()).as_secs_f64()
    }

    fn steps(&self) -> usize {
        self.depths.len() * self.rounds as usize
    }

    /// Places of the depths in a round: up, then down, so that storage that gets slower or faster with time does not bend
    /// the curve.
    fn order(&self, round: u32) -> Vec<usize> {
        let up = 0..self.depths.len();
        if round.is_multiple_of(2) { up.collect() } else { up.rev().collect() }
    }
}

#[derive(Clone, Debug)]
pub struct Sweep {
    /// Rounds in the order in which they were made; each by depth.
    pub rounds: Vec<Vec<Step>>,
    /// Latencies of all rounds, by depth.
    pub latencies: Vec<Histogram>,
}

impl Sweep {
    pub fn points(&self) -> Vec<Vec<Point>> {
        self.rounds.iter().map(|round| round.iter().map(|step| step.point).collect()).collect()
    }
}

/// Measures the first disk of an engine, which has so many bytes; reports what it does before each step, and how many seconds
/// are left. `None` where it was stopped.
pub fn sweep(
    (engine, bytes): (Handle, u64),
    plan: &SweepPlan,
    stop: &Stop,
    tell: &mut dyn FnMut(String, f64),
) -> Result<Option<Sweep>> {
    let kind = Kind { bytes: u32::try_from(plan.block)?, write: false };
    let client = Client::new(engine, kind, bytes, Random::new(plan.seed.child("places")));
    let times = Times { settle: plan.settle(), measure: plan.measure };
    let mut latencies = vec![Histogram::default(); plan.depths.len()];
    let (mut rounds, mut done) = (Vec::new(), 0);
    for round in 0..plan.rounds {
        let mut steps = vec![None; plan.depths.len()];
        for place in plan.order(round) {
            let depth = plan.depths[place];
            let left = plan.seconds() * (1.0 - f64::from(done) / plan.steps() as f64);
            tell(format!("round {} of {}: {depth} outstanding", round + 1, plan.rounds), left);
            match client.step(depth, times, &mut latencies[place], stop)? {
                Some(step) => steps[place] = Some(step),
                None => return Ok(None),
            }
            done += 1;
        }
        rounds.push(steps.into_iter().flatten().collect());
    }
    Ok(Some(Sweep { rounds, latencies }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::share::knee::Step;
    use evenkeel_core::share::knee::Point;
    use std::borrow::Cow;

    fn storage() -> Storage {
        Storage {
            bytes: 1 << 30,
            allocated: Some(1 << 30),
            direct: true,
            simulated: false,
            executor: "uring past the cache".to_owned(),
            free: Some(1 << 34),
        }
    }

    fn measured(reads: u64, latency_s: f64) -> Sweep {
        let step = |depth| Step { reads, point: Point { depth, throughput: 1.0, latency_s } };
        Sweep { rounds: vec![vec![step(1), step(32)]], latencies: Vec::new() }
    }

    fn codes(storage: &Storage, sweep: &Sweep) -> Vec<Cow<'static, str>> {
        let found = caveats(storage, sweep, 16_384);
        assert!(found.iter().all(|caveat| !caveat.to_string().is_empty()));
        found
            .into_iter()
            .filter(|caveat| caveat.severity > Severity::Note)
            .map(|caveat| caveat.code)
            .collect()
    }

    #[test]
    fn storage_measured_past_the_cache_for_long_enough_has_the_general_doubts_only() {
        assert_eq!(codes(&storage(), &measured(1_000, 0.001)), [""; 0]);
        assert_eq!(caveats(&storage(), &measured(1_000, 0.001), 16_384).len(), 2);
    }

    #[test]
    fn what_makes_figures_of_something_else_is_said() {
        let good = measured(1_000, 0.001);
        let cached = Storage { direct: false, ..storage() };
        assert_eq!(codes(&cached, &good), ["page-cache"]);
        assert_eq!(codes(&cached, &measured(1_000, 9e-6)), ["page-cache", "memory"]);
        assert_eq!(codes(&Storage { allocated: Some(1 << 29), ..storage() }, &good), ["holes"]);
        assert_eq!(codes(&Storage { allocated: None, ..storage() }, &good), [""; 0]);
        assert_eq!(codes(&Storage { executor: "threads".to_owned(), ..storage() }, &good), ["threads"]);
        assert_eq!(codes(&storage(), &measured(99, 0.001)), ["few-reads"]);
    }

    #[test]
    fn a_simulated_array_gives_its_times_whatever_is_behind_it() {
        let simulated = Storage { simulated: true, direct: false, allocated: Some(0), ..storage() };
        assert_eq!(codes(&simulated, &measured(1_000, 9e-6)), [""; 0]);
    }

    #[test]
    fn rounds_go_up_and_down_by_turns() {
        let plan = SweepPlan {
            depths: vec![1, 2, 4],
            rounds: 3,
            measure: Nanos::from_secs(1),
            block: 16_384,
            seed: Seed(1),
        };
        let orders: Vec<_> = (0..3).map(|round| plan.order(round)).collect();
        assert_eq!(orders, [[0, 1, 2], [2, 1, 0], [0, 1, 2]]);
        assert_eq!(plan.seconds(), 11.25);
    }
}
