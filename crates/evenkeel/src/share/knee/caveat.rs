//! What there is to doubt about a knee.

use super::Sweep;
use crate::format;
use std::fmt;

/// A step with fewer reads gives its mean latency to no better than a tenth (standard error of exponential latencies).
const READS_LEAST: u64 = 100;
/// No disk or flash ends a read in less; memory does.
const MEMORY_S: f64 = 20e-6;
/// A file of which less is on the storage has holes, or is compressed; file systems round a little.
const ALLOCATED_LEAST: f64 = 0.95;
/// Threads of a backing without io_uring.
const THREADS: u32 = 16;

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Storage {
    /// Bytes that were read from.
    pub bytes: u64,
    /// Bytes that the file has on its file system; `None` for a device.
    pub allocated: Option<u64>,
    /// Whether I/Os go past the page cache.
    pub direct: bool,
    /// A simulated array gave the times.
    pub simulated: bool,
    /// Who did the I/O.
    pub executor: String,
    /// Memory that the page cache may take, in bytes.
    pub free: Option<u64>,
}

/// A doubt about a knee, with its evidence.
#[derive(Clone, Debug, PartialEq)]
pub enum Caveat {
    /// It is a knee of these reads only.
    ReadsOnly {
        /// Bytes of each.
        block: u64,
    },
    /// Who else used the storage meanwhile is not known.
    OthersUnknown,
    /// The page cache may have answered.
    PageCache {
        /// Whether all of the storage fits into free memory; `None` where that is not known.
        fits: Option<bool>,
    },
    /// Parts of the file are nowhere on the storage, and read at once.
    Holes {
        /// Bytes of it that are.
        allocated: u64,
        /// Its size in bytes.
        bytes: u64,
    },
    /// Answers came faster than storage gives them.
    Memory {
        /// Mean latency at the least depth, in seconds.
        latency_s: f64,
    },
    /// A depth was measured with too few reads.
    FewReads {
        /// The depth at which it was seen.
        depth: u32,
        /// Reads of its shortest step.
        reads: u64,
    },
    /// Fewer reads reached the storage at once than were outstanding.
    Threads,
}

impl Caveat {
    /// A word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::ReadsOnly { .. } => "reads-only",
            Self::OthersUnknown => "others-unknown",
            Self::PageCache { .. } => "page-cache",
            Self::Holes { .. } => "holes",
            Self::Memory { .. } => "memory",
            Self::FewReads { .. } => "few-reads",
            Self::Threads => "threads",
        }
    }

    /// Whether it goes with every knee, and says nothing of this one.
    pub fn is_general(&self) -> bool {
        matches!(self, Self::ReadsOnly { .. } | Self::OthersUnknown)
    }
}

impl fmt::Display for Caveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadsOnly { block } => {
                write!(
                    f,
                    "a knee of reads of {}: writes and larger ones may cost more",
                    format::bytes(*block)
                )
            }
            Self::OthersUnknown => f.write_str(
                "what other hosts did on the storage meanwhile is in the figures: measure it alone",
            ),
            Self::PageCache { fits } => {
                let size = match fits {
                    Some(true) => "and all of it fits into free memory",
                    Some(false) => "as far as memory goes",
                    None => "as far as it goes",
                };
                write!(f, "the page cache answers, {size}: --direct measures the storage")
            }
            Self::Holes { allocated, bytes } => {
                let (allocated, bytes) = (format::bytes(*allocated), format::bytes(*bytes));
                write!(
                    f,
                    "of {bytes} the file has {allocated} on the storage: holes are read at once, fill it"
                )
            }
            Self::Memory { latency_s } => {
                let time = format::time(latency_s * 1e3);
                write!(f, "one read takes {time}: memory answers so fast, not storage")
            }
            Self::FewReads { depth, reads } => {
                let reads = format::counted(*reads as usize, "read");
                write!(f, "{reads} in a step with {depth} outstanding: measure for longer, --seconds")
            }
            Self::Threads => write!(
                f,
                "threads did the I/O, {THREADS} at once: the kernel allows no io_uring, and deeper is not measured"
            ),
        }
    }
}

/// All that there is to doubt, the general last.
pub fn caveats(storage: &Storage, sweep: &Sweep, block: u64) -> Vec<Caveat> {
    let mut found = Vec::new();
    if !storage.simulated {
        found.extend(of_storage(storage));
        found.extend(of_speed(storage, sweep));
    }
    found.extend(few_reads(sweep));
    found.extend([Caveat::ReadsOnly { block }, Caveat::OthersUnknown]);
    found
}

/// What there is to doubt about costs, whatever was measured.
pub fn storage_caveats(storage: &Storage) -> Vec<Caveat> {
    let mut found = if storage.simulated { Vec::new() } else { of_storage(storage) };
    found.push(Caveat::OthersUnknown);
    found
}

fn of_storage(storage: &Storage) -> Vec<Caveat> {
    let mut found = Vec::new();
    if !storage.direct {
        found.push(Caveat::PageCache { fits: storage.free.map(|free| storage.bytes <= free) });
    }
    let sparse = |&allocated: &u64| (allocated as f64) < ALLOCATED_LEAST * storage.bytes as f64;
    if let Some(allocated) = storage.allocated.filter(sparse) {
        found.push(Caveat::Holes { allocated, bytes: storage.bytes });
    }
    found
}

fn of_speed(storage: &Storage, sweep: &Sweep) -> Vec<Caveat> {
    let firsts = sweep.rounds.iter().filter_map(|round| round.first());
    let latency_s = firsts.map(|step| step.point.latency_s).fold(f64::INFINITY, f64::min);
    let depths = sweep.rounds.iter().flatten().map(|step| step.point.depth);
    let mut found = Vec::new();
    if latency_s < MEMORY_S {
        found.push(Caveat::Memory { latency_s });
    }
    if storage.executor.contains("threads") && depths.max().is_some_and(|depth| depth > THREADS) {
        found.push(Caveat::Threads);
    }
    found
}

fn few_reads(sweep: &Sweep) -> Option<Caveat> {
    let least = sweep.rounds.iter().flatten().min_by_key(|step| step.reads)?;
    let few = Caveat::FewReads { depth: least.point.depth, reads: least.reads };
    (least.reads < READS_LEAST).then_some(few)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::share::knee::Step;
    use evenkeel_core::share::knee::Point;

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

    fn codes(storage: &Storage, sweep: &Sweep) -> Vec<&'static str> {
        let found = caveats(storage, sweep, 16_384);
        assert!(found.iter().all(|caveat| !caveat.to_string().is_empty()));
        found.iter().filter(|caveat| !caveat.is_general()).map(Caveat::code).collect()
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
}
