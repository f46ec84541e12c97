use crate::time::Nanos;
use std::fmt;

/// Decides how many transactions may run.
///
/// Pure: the same samples give the same decisions, so that a journal of samples replays them.
pub trait Controller: Send {
    fn name(&self) -> &'static str;

    /// Takes in a tick and decides the limit that is in force from its end on.
    fn update(&mut self, sample: &Sample) -> Decision;
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    pub limit: u32,
    pub why: Reason,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "limit {}, because {}", self.limit, self.why)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    pub limit: u32,
    /// Logarithm of its throughput over that at the limit in use.
    pub gain: f64,
    pub se: f64,
    /// How sure the sign is, 0.5 to 1.
    pub sure: f64,
}

/// Why a limit was decided. Each controller has reasons of its own among these. Gains are logarithms of throughput now over throughput
/// before; where a limit is better, that of the evidence is in use now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    Fixed,
    Start,
    NotFull { in_flight: f64 },
    Silent { seconds: f64 },
    NotInForce { limit: u32 },
    Draining { in_flight: u32 },
    Measuring { completions: u64 },
    Trying { in_use: u32, because: Hint },
    Better { left: u32, evidence: Evidence },
    NotBetter(Evidence),
    CannotFill { limit: u32, in_flight: f64 },
    Settled { next_s: f64 },
    Changed { gain: f64 },
    StrainChanged,
    LookDue,
    ChangedAgain { gain: f64 },
    Brake { from: u32, because: Hint },
    MemoryCap { wanted: u32 },
    BadSample,
    Reflection { productivity: f64, overhead: f64 },
    NoSignal,
}

/// Why a probe goes where it goes, or what pulled the brake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    Turn,
    Momentum,
    Locks,
    WorkInflation,
    ThroughputFell,
    Memory,
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Turn => "its turn has come",
            Self::Momentum => "the last step this way was good",
            Self::Locks => "transactions wait for each other's locks",
            Self::WorkInflation => "each commit costs more CPU than before",
            Self::ThroughputFell => "throughput has fallen",
            Self::Memory => "the server's memory is short",
        })
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = self.gain.exp_m1() * 100.0;
        let word = if percent < 0.0 { "less" } else { "more" };
        // Never "sure to 100 %".
        let sure = (self.sure * 100.0).floor().min(99.0);
        write!(f, "{} gave {:.0} % {word} (sure to {sure:.0} %)", self.limit, percent.abs())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed => f.write_str("it is fixed"),
            Self::Start => f.write_str("nothing has been measured yet"),
            Self::NotFull { in_flight } => {
                write!(f, "{in_flight:.1} transactions run, too few to test the limit")
            }
            Self::Silent { seconds } => {
                write!(f, "nothing has completed for {seconds:.1} s: nothing to learn")
            }
            Self::NotInForce { limit } => write!(f, "{limit} was in force, which says nothing about it"),
            Self::Draining { in_flight } => write!(f, "it was lowered and {in_flight} are still in flight"),
            Self::Measuring { completions } => write!(f, "it is being measured, {completions} so far"),
            Self::Trying { in_use, because } => write!(f, "it is tried beside {in_use}: {because}"),
            Self::Better { left, evidence } => write!(f, "{evidence} than {left}"),
            Self::NotBetter(evidence) => evidence.fmt(f),
            Self::CannotFill { limit, in_flight } => {
                write!(f, "{limit} could not be filled, {in_flight:.1} were in flight")
            }
            Self::Settled { next_s } => write!(f, "nothing tried was better; next look in {next_s:.1} s"),
            Self::Changed { gain } => {
                write!(f, "throughput changed by {:+.0} % by itself; looking again", gain.exp_m1() * 100.0)
            }
            Self::StrainChanged => f.write_str(
                "the cost of a transaction or its waits for locks changed by themselves; looking again",
            ),
            Self::LookDue => f.write_str("throughput changed a while ago; looking again"),
            Self::ChangedAgain { gain } => write!(
                f,
                "throughput changed by {:+.0} % by itself, as before, when nothing better was found; looking again later",
                gain.exp_m1() * 100.0
            ),
            Self::Brake { from, because } => write!(f, "{from} was too many: {because}"),
            Self::MemoryCap { wanted } => write!(f, "memory has no room for {wanted}"),
            Self::BadSample => f.write_str("the last sample made no sense; the last proven limit is kept"),
            Self::Reflection { productivity, overhead } => write!(
                f,
                "productivity moved by {:+.1} % and overhead by {:+.1} %",
                productivity * 100.0,
                overhead * 100.0
            ),
            Self::NoSignal => f.write_str("a signal that the controller needs is not available"),
        }
    }
}

/// What happened in one tick of 50 to 100 ms. Algorithms that average do so over several of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    pub start: Nanos,
    pub end: Nanos,
    /// The limit in force during the whole tick.
    pub limit: u32,
    pub in_flight_mean: f64,
    /// Most in flight at any instant. Above `limit` while a lowered limit drains.
    pub in_flight_max: u32,
    pub queued: f64,
    /// Transactions that ended well. What overload or the server's rollback ended is counted apart, so that
    /// failing fast is never taken for throughput.
    pub completions: u64,
    /// Completions weighted by the usual cost of their digest, in units of the mean transaction; equal to
    /// `completions` where no costs are known.
    pub work: f64,
    pub rejected: u64,
    /// Transactions that failed by overload: time-outs, out of resources.
    pub overload: u64,
    pub rolled_back: u64,
    pub response: Option<Response>,
    pub signals: Signals,
}

impl Sample {
    pub fn seconds(&self) -> f64 {
        (self.end - self.start).as_secs_f64()
    }

    pub fn work_per_s(&self) -> f64 {
        let seconds = self.seconds();
        if seconds > 0.0 { self.work / seconds } else { 0.0 }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Response {
    pub mean: f64,
    pub min: f64,
    pub max: f64,
}

/// Readings of the server's sensors. A reading that is not available is `None`, never zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signals {
    pub cpu_per_commit: Option<f64>,
    pub cycles_per_commit: Option<f64>,
    /// Data TLB misses per commit.
    pub dtlb_misses: Option<f64>,
    /// Data-cache misses per commit.
    pub cache_misses: Option<f64>,
    /// Share of the transactions' time in flight spent waiting for row locks, 0 to 1.
    pub lock_wait_share: Option<f64>,
    pub deadlocks_per_commit: Option<f64>,
    /// Share of time in which all tasks waited for memory, 0 to 1.
    pub memory_pressure: Option<f64>,
    pub memory_used: Option<f64>,
    /// Bytes of memory that it may still take from the machine and from its control groups.
    pub memory_free: Option<f64>,
    /// Share of the machine's CPU time spent by the server in user mode, 0 to 1.
    pub user_cpu_share: Option<f64>,
}
