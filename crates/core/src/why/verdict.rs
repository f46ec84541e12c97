use crate::caveat::threshold::{OTHER_LOAD_MAX, STEAL_REPEATED};
use crate::statistics::{CONFIDENCE, Sample, student_quantile};
use std::collections::BTreeSet;
use std::fmt;

/// What may make response times differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Suspect {
    Network,
    /// How long a read of a data file takes.
    Disk,
    /// What a commit waits for its log.
    Syncs,
    /// What a request waits for flushes of pages, which wait for their syncs.
    DataSyncs,
    /// Waits for rows and tables that others have locked.
    Locks,
    /// How many pages have to be read: how rows lie in their files.
    Layout,
    /// How many pages have to be read, though they lie alike and the plan is the same.
    Pool,
    Plan,
    /// CPU time of the server for a request.
    Work,
    /// What threads that could run waited for a CPU.
    CpuWait,
    Neighbours,
    Stolen,
    /// What is drawn anew when a server starts: its addresses in memory, for one.
    Start,
}

impl Suspect {
    pub const ALL: [Self; 13] = [
        Self::Network,
        Self::Disk,
        Self::Syncs,
        Self::DataSyncs,
        Self::Locks,
        Self::Layout,
        Self::Pool,
        Self::Plan,
        Self::Work,
        Self::CpuWait,
        Self::Neighbours,
        Self::Stolen,
        Self::Start,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Disk => "disk",
            Self::Syncs => "syncs",
            Self::DataSyncs => "data-syncs",
            Self::Locks => "locks",
            Self::Layout => "layout",
            Self::Pool => "pool",
            Self::Plan => "plan",
            Self::Work => "cpu-work",
            Self::CpuWait => "cpu-wait",
            Self::Neighbours => "neighbours",
            Self::Stolen => "stolen-cpu",
            Self::Start => "start",
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::Network => "the network",
            Self::Disk => "the disk",
            Self::Syncs => "the syncs at commit",
            Self::DataSyncs => "the syncs of data files",
            Self::Locks => "locks",
            Self::Layout => "the storage layout",
            Self::Pool => "the buffer pool",
            Self::Plan => "the plan",
            Self::Work => "the CPU work of the server",
            Self::CpuWait => "waiting for a CPU",
            Self::Neighbours => "neighbours on its CPUs",
            Self::Stolen => "stolen CPU time",
            Self::Start => "the start of the server",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    Cause,
    NotTheCause,
    Undecided,
}

impl Ruling {
    pub fn words(self) -> &'static str {
        match self {
            Self::Cause => "cause",
            Self::NotTheCause => "not the cause",
            Self::Undecided => "undecided",
        }
    }
}

impl fmt::Display for Ruling {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.words())
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub suspect: Suspect,
    pub ruling: Ruling,
    pub evidence: String,
    pub figure: Option<Clue>,
}

impl Verdict {
    pub(super) fn undecided(suspect: Suspect, evidence: impl Into<String>) -> Self {
        Self { suspect, ruling: Ruling::Undecided, evidence: evidence.into(), figure: None }
    }

    /// With another ruling, and why.
    pub(super) fn but(self, ruling: Ruling, why: &str) -> Self {
        Self { ruling, ..self }.because(why)
    }

    pub(super) fn because(self, why: &str) -> Self {
        Self { evidence: format!("{} {why}", self.evidence), ..self }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clue {
    pub name: &'static str,
    pub value: f64,
    pub interval: Option<(f64, f64)>,
}

impl Clue {
    pub(super) fn of(name: &'static str, gap: &Gap) -> Self {
        Self { name, value: gap.mean, interval: Some((gap.low, gap.high)) }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Why {
    pub slow: usize,
    /// Number of the fastest one; that of the slowest, where there is only one.
    pub fast: usize,
    pub fast_ms: f64,
    /// By how much the slowest takes longer, ms; `None` of a single target, or too few runs.
    pub gap: Option<Gap>,
    /// By how much two halves of the runs of one target differ, ms: of the target of which that is more; 0 of targets side by side.
    pub halves_ms: f64,
    /// What of the difference no named cause accounts for, ms; `None` if targets do not differ, or the time of a cause is not known.
    pub unexplained_ms: Option<f64>,
    pub verdicts: Vec<Verdict>,
}

impl Why {
    /// Whether the two differ, with 95 % confidence, by enough to speak of, and by more than either does from itself.
    pub fn differs(&self) -> bool {
        let least_ms = self.halves_ms.max(LITTLE * self.fast_ms);
        self.gap.is_some_and(|gap| gap.low > 0.0 && gap.mean >= least_ms)
    }

    /// Names no cause, and says why in the evidence of each that was one.
    pub fn acquit(&mut self, why: &str) {
        for verdict in self.verdicts.iter_mut().filter(|verdict| verdict.ruling == Ruling::Cause) {
            verdict.ruling = Ruling::Undecided;
            verdict.evidence.push_str(&format!(" No cause is named: {why}."));
        }
        self.unexplained_ms = None;
    }

    pub fn causes(&self) -> impl Iterator<Item = Suspect> + '_ {
        let named = self.verdicts.iter().filter(|verdict| verdict.ruling == Ruling::Cause);
        named.map(|verdict| verdict.suspect)
    }
}

/// Response times that differ by less than this share differ little.
pub const LITTLE: f64 = 0.05;
/// Of what response times differ by, a cause makes this share at least.
pub const SHARE_MIN: f64 = 0.25;
/// Statements that touch this share of rows more are answered in another way.
pub const ROWS_MIN: f64 = 0.1;
/// Points of the CPUs' time by which stolen time has to differ.
pub const STOLEN_MIN: f64 = STEAL_REPEATED;
/// Points of the CPUs' time by which that of neighbours has to.
pub const NEIGHBOURS_MIN: f64 = OTHER_LOAD_MAX;
/// Points of the time by which a quota has to hold one server longer than the other.
pub const HELD_MIN: f64 = 1.0;
/// Threads of a server that uses less of its CPUs than this, percent, wait for those of others and not for one another.
pub const OWN_MAX: f64 = 50.0;

/// Fewest blocks that are told apart from one another; of a single one its runs are.
const BLOCKS_MIN: usize = 2;

/// By how much the slower one of two targets has more of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gap {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
    pub units: usize,
}

impl Gap {
    /// The mean of differences; `None` of fewer than two. The interval is wider where two were chosen out of several targets: it holds for
    /// all `pairs` of them together (Bonferroni).
    pub fn of(differences: &[f64], pairs: usize) -> Option<Self> {
        let sample: Sample = differences.iter().copied().collect();
        let (mean, error) = (sample.mean()?, sample.standard_error()?);
        let beyond = (1.0 - CONFIDENCE) / pairs.max(1) as f64 / 2.0;
        let half = student_quantile(1.0 - beyond, (differences.len() - 1) as f64) * error;
        Some(Self { mean, low: mean - half, high: mean + half, units: differences.len() })
    }
}

/// Runs of both targets that were made at about the same time.
#[derive(Clone, Debug)]
pub(super) struct Unit<'a> {
    pub slow: Vec<&'a Observation>,
    pub fast: Vec<&'a Observation>,
}

impl Unit<'_> {
    /// What a figure of the slow and of the fast one is in the mean; `None` where a side has it of no run.
    pub fn means(&self, figure: impl Fn(&Observation) -> Option<f64>) -> Option<(f64, f64)> {
        let mean =
            |runs: &[&Observation]| runs.iter().filter_map(|run| figure(run)).collect::<Sample>().mean();
        Some((mean(&self.slow)?, mean(&self.fast)?))
    }
}

/// By how much a figure differs; `None` where some unit has it of no run.
pub(super) fn gap_of(
    units: &[Unit<'_>],
    pairs: usize,
    figure: impl Fn(&Observation) -> Option<f64>,
) -> Option<Gap> {
    let differences: Option<Vec<f64>> =
        units.iter().map(|unit| unit.means(&figure).map(|(slow, fast)| slow - fast)).collect();
    Gap::of(&differences?, pairs)
}

/// Blocks that both targets have, which are starts. Of a single block its runs, pair by pair, and then what blocks differ by is in no interval.
pub(super) fn units<'a>(runs: &'a [Observation], slow: usize, fast: usize) -> Vec<Unit<'a>> {
    let of = |target: usize, key: (u32, Option<u32>)| -> Vec<&'a Observation> {
        let is_it = |run: &&Observation| {
            run.target == target && run.start == key.0 && key.1.is_none_or(|number| number == run.run)
        };
        runs.iter().filter(is_it).collect()
    };
    let paired = |keys: BTreeSet<(u32, Option<u32>)>| -> Vec<Unit<'a>> {
        let unit = |key: (u32, Option<u32>)| Unit { slow: of(slow, key), fast: of(fast, key) };
        keys.into_iter().map(unit).filter(|unit| !unit.slow.is_empty() && !unit.fast.is_empty()).collect()
    };
    let blocks = paired(runs.iter().map(|run| (run.start, None)).collect());
    if blocks.len() >= BLOCKS_MIN {
        return blocks;
    }
    paired(runs.iter().map(|run| (run.start, Some(run.run))).collect())
}

#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    pub target: usize,
    /// Block that it belongs to: the start of its server with that number.
    pub start: u32,
    /// Number of the run of its start. Runs of two targets with the same numbers were made side by side, or one soon after the other.
    pub run: u32,
    pub tau_ms: f64,
    pub seen: Seen,
}

/// What was seen around a run; what was not available is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// What a request spends on its way between client and server, without waiting for a CPU.
    pub network_ms: Option<f64>,
    pub reads: Option<f64>,
    /// Pages that it reads from disk by the pages that its plan touches and the room for them, which nobody measured: where requests
    /// overlap, and one by one.
    pub predicted: Option<(f64, f64)>,
    pub under_way: Option<f64>,
    pub read_ms: Option<f64>,
    pub rows: Option<f64>,
    /// What a request spends in its commit.
    pub sync_ms: Option<f64>,
    /// Mean time of one sync of a data file; `None` too where there was none.
    pub data_sync_ms: Option<f64>,
    /// Syncs of data files that were under way in the mean, percent: of one after the other the share of the time.
    pub data_sync_percent: Option<f64>,
    /// What a request waits for locks of rows and tables.
    pub lock_ms: Option<f64>,
    /// CPU time of the server for a request.
    pub cpu_ms: Option<f64>,
    /// What the threads of the server that could run waited for a CPU, for each request.
    pub cpu_wait_ms: Option<f64>,
    /// Share of the time in which a quota held the server off its CPUs, percent.
    pub held_percent: Option<f64>,
    pub theta_percent: Option<f64>,
    /// CPU time that the hypervisor took of the server's CPUs, percent.
    pub stolen_percent: Option<f64>,
    /// CPU time that others took of them, percent.
    pub neighbours_percent: Option<f64>,
    /// The shape of all plans as one number, the same wherever they are the same.
    pub plan: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compared {
    Alike(String),
    Different(String),
    Unknown(String),
}

impl Compared {
    pub fn words(&self) -> &str {
        match self {
            Self::Alike(words) | Self::Different(words) | Self::Unknown(words) => words,
        }
    }
}

/// What is known of the slowest and the fastest target besides their runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    pub plans: Compared,
    pub pages: Compared,
    pub pools_differ: bool,
    /// Whether one of them is on another machine, as far as can be seen, and the delay of its network known by small packets alone.
    pub by_probes: bool,
    /// Whether they were asked at the same instants. What the machine does over time is then in both and in no difference.
    pub side_by_side: bool,
}
