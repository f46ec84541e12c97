//! What stands on disk: the plan, a file for each point and for each step.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Version of the files.
pub const FORMAT: u32 = 1;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// The TPC-W shopping mix.
    Shopping,
    /// One range read six times in a transaction, over more data than the buffer pool holds.
    Reread,
}

impl Load {
    /// Name, as in file names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Shopping => "shopping",
            Self::Reread => "reread",
        }
    }

    /// What it is, in a few words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Shopping => "TPC-W shopping mix",
            Self::Reread => "ranges read again and again",
        }
    }
}

/// What stands between clients and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Nothing: clients at the server.
    Direct,
    /// A guard that holds nothing back: the price of the hop alone.
    Unlimited,
    /// A guard with the published rule.
    Reflection,
    /// A guard with our controller.
    Evenkeel,
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Direct, Self::Unlimited, Self::Reflection, Self::Evenkeel];

    /// Name, as in flags and file names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Unlimited => "unlimited",
            Self::Reflection => "reflection",
            Self::Evenkeel => "evenkeel",
        }
    }

    /// What it is, in a few words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Direct => "without control",
            Self::Unlimited => "guard that never limits",
            Self::Reflection => "the study's rule",
            Self::Evenkeel => "Evenkeel's rule",
        }
    }

    /// The guard's controller; `None` without a guard.
    pub fn controller(self) -> Option<&'static str> {
        match self {
            Self::Direct => None,
            Self::Unlimited => Some("fixed"),
            Self::Reflection => Some("reflection"),
            Self::Evenkeel => Some("evenkeel"),
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// When the second workload is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Second {
    /// Where the shopping mix does not fall by 10 %
    #[default]
    Auto,
    /// In any case
    Always,
    /// In no case
    Never,
}

/// How one workload is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// What is asked.
    pub load: Load,
    /// Numbers of clients, rising.
    pub clients: Vec<u32>,
    /// What stands between.
    pub ways: Vec<Way>,
    /// Runs of each point.
    pub repeats: u32,
    /// Load before measuring begins, seconds.
    pub warm_up_s: f64,
    /// Measured time, seconds.
    pub duration_s: f64,
}

/// How long a point of the published rule waits for its limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settle {
    /// Span of the rule's means, seconds; a limit that has not moved for so long has settled.
    pub span_s: f64,
    /// One that has not settled after this, in seconds, does not.
    pub most_s: f64,
}

impl Settle {
    /// The published span, seconds.
    pub const PUBLISHED_S: f64 = 60.0;

    /// With means over a span, in seconds: at most ten of them are waited for.
    pub fn of_span(span_s: f64) -> Self {
        Self { span_s, most_s: 10.0 * span_s }
    }
}

/// A step in the number of clients, watched over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepPlan {
    /// Clients before and after.
    pub clients: (u32, u32),
    /// What stands between.
    pub ways: Vec<Way>,
    /// Runs.
    pub repeats: u32,
    /// Seconds before the step.
    pub before_s: f64,
    /// Seconds after it.
    pub after_s: f64,
}

/// What was to be measured, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanFile {
    /// Version of the files.
    pub format: u32,
    /// Name of the study.
    pub id: String,
    /// When it was begun.
    pub created_unix_s: u64,
    /// The command line.
    pub command: Vec<String>,
    /// Whether it was asked to be quick.
    pub quick: bool,
    /// Seed of order, kinds and parameters.
    pub seed: u64,
    /// TPC-W NUM_EBS.
    pub ebs: u32,
    /// TPC-W NUM_ITEMS.
    pub items: u32,
    /// How long points of the published rule wait for its limit; absent in studies before they did.
    #[serde(default)]
    pub settle: Option<Settle>,
    /// The shopping mix.
    pub shopping: Sweep,
    /// The workload whose misses grow.
    pub reread: Sweep,
    /// When that is measured.
    pub second: Second,
    /// The step.
    pub step: StepPlan,
    /// Where all this ran.
    pub place: Place,
}

/// Server and machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// Processor.
    pub processor: Option<String>,
    /// CPUs of the machine.
    pub cpus: Option<String>,
    /// CPUs of the server.
    pub server_cpus: String,
    /// CPUs of clients and guard.
    pub generator_cpus: String,
    /// Hypervisor, where there is one.
    pub hypervisor: Option<String>,
    /// Settings of the server that were asked for, as `name=value`.
    pub settings: Vec<String>,
    /// The server's program; `None`: the system's.
    pub server_binary: Option<String>,
    /// Memory limit of the server, bytes.
    pub memory_bytes: Option<u64>,
}

/// Which point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Key {
    /// What is asked.
    pub load: Load,
    /// What stands between.
    pub way: Way,
    /// Clients.
    pub clients: u32,
    /// Repeat, from 1.
    pub repeat: u32,
}

impl Key {
    /// Name of its file, without the ending.
    pub fn file(self) -> String {
        format!("{}-{}-{}-r{}", self.load.name(), self.way, self.clients, self.repeat)
    }
}

/// One measured point. What was not available is absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointFile {
    /// Version of the files.
    pub format: u32,
    /// Which point.
    pub key: Key,
    /// When.
    pub started_unix_s: u64,
    /// Measured time, seconds.
    pub measured_s: f64,
    /// Requests scheduled in it.
    pub arrivals: u64,
    /// Of these answered in full.
    pub completed: u64,
    /// Deadlocks (error 1213).
    pub deadlocks: u64,
    /// Other errors.
    pub failed: u64,
    /// Given up or never sent.
    pub lost: u64,
    /// What was measured.
    pub figures: Figures,
    /// Why there are no hardware counters.
    pub counters_refused: Option<String>,
    /// Whether the limit came to rest before; absent where it was not waited for.
    #[serde(default)]
    pub settling: Option<Settling>,
}

/// What a limit did before a point was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settling {
    /// Whether it had not moved for a span.
    pub settled: bool,
    /// How long that took, or was waited for, seconds.
    pub waited_s: f64,
    /// The limit then.
    pub limit: u32,
}

impl PlanFile {
    /// How long points of this way wait for the limit.
    pub fn settle_of(&self, way: Way) -> Option<Settle> {
        self.settle.filter(|_| way == Way::Reflection)
    }
}

/// Figures of a point; `throughput_per_s` and response are the clients', the rest the server's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Requests completed per second.
    pub throughput_per_s: f64,
    /// Mean response time, ms.
    pub response_mean_ms: f64,
    /// 95th percentile of it, ms.
    pub response_p95_ms: f64,
    /// CPU time of the server's process per commit, ms.
    pub cpu_ms: Option<f64>,
    /// Cycles on the server's CPUs per commit.
    pub cycles: Option<f64>,
    /// Misses of the data translation buffer per commit.
    pub dtlb_misses: Option<f64>,
    /// Cache misses per commit.
    pub cache_misses: Option<f64>,
    /// Pages read into the buffer pool per commit.
    pub pages_read: Option<f64>,
    /// Context switches of the server per commit.
    pub switches: Option<f64>,
    /// Time waited for row locks, percent of the time in flight at the server.
    pub lock_wait_percent: Option<f64>,
    /// Deadlocks per 100 commits.
    pub deadlock_percent: f64,
    /// Mean limit while measured.
    pub limit_mean: Option<f64>,
    /// Limit at the end.
    pub limit_last: Option<f64>,
    /// Use of the server's CPUs, percent.
    pub theta_percent: Option<f64>,
    /// CPU time of the load threads, percent of one CPU.
    pub generator_percent: f64,
    /// CPU time that neither server nor this process took (a guard is among it), percent of the machine.
    pub other_percent: Option<f64>,
    /// Time taken away from the server's CPUs by a hypervisor, percent.
    pub steal_percent: Option<f64>,
}

/// One watched step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepFile {
    /// Version of the files.
    pub format: u32,
    /// What stood between.
    pub way: Way,
    /// Repeat, from 1.
    pub repeat: u32,
    /// When more clients came, seconds from the start.
    pub step_at_s: f64,
    /// Second by second.
    pub seconds: Vec<StepSecond>,
}

impl StepFile {
    /// Name of its file, without the ending.
    pub fn file(way: Way, repeat: u32) -> String {
        format!("{way}-r{repeat}")
    }
}

/// A second of a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepSecond {
    /// Its end, from the start.
    pub at_s: f64,
    /// Requests completed in it.
    pub throughput_per_s: f64,
    /// Mean limit in it; absent without a guard.
    pub limit: Option<f64>,
}
