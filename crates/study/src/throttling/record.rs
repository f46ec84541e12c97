//! What the study needs to know beside parts and repeats, as it stands in its plan.

pub use crate::published::MachineRecord;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// The TPC-W shopping mix.
    Shopping,
    /// One range read six times in a transaction, over more data than the buffer pool holds.
    Reread,
}

impl Load {
    pub fn name(self) -> &'static str {
        if self == Self::Shopping { "shopping" } else { "reread" }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Shopping, Self::Reread].into_iter().find(|load| load.name() == name)
    }

    pub fn words(self) -> &'static str {
        if self == Self::Shopping { "TPC-W shopping mix" } else { "ranges read again and again" }
    }
}

/// What stands between clients and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// Nothing: clients at the server.
    Direct,
    /// A guard that holds nothing back: the price of the hop alone.
    Unlimited,
    /// A guard with the published controller.
    Reflection,
    /// A guard with our controller.
    Evenkeel,
}

impl Treatment {
    pub const ALL: [Self; 4] = [Self::Direct, Self::Unlimited, Self::Reflection, Self::Evenkeel];

    /// Name, words, and the guard's controller.
    const fn known(self) -> (&'static str, &'static str, Option<&'static str>) {
        match self {
            Self::Direct => ("direct", "without control", None),
            Self::Unlimited => ("unlimited", "guard that never limits", Some("fixed")),
            Self::Reflection => ("reflection", "the published controller", Some("reflection")),
            Self::Evenkeel => ("evenkeel", "Evenkeel's controller", Some("evenkeel")),
        }
    }

    pub fn name(self) -> &'static str {
        self.known().0
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|way| way.name() == name)
    }

    pub fn words(self) -> &'static str {
        self.known().1
    }

    /// The guard's controller; `None` without a guard.
    pub fn controller(self) -> Option<&'static str> {
        self.known().2
    }
}

/// When the second workload is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

/// How long a point of a workload is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Load before measuring begins, seconds.
    pub warm_up_s: f64,
    /// Measured time, seconds.
    pub duration_s: f64,
}

/// How long a point of the published controller waits for its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settle {
    /// Span of the controller's means, seconds; a limit that has not moved for so long has settled.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepPlan {
    pub clients: (u32, u32),
    pub before_s: f64,
    pub after_s: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// NUM_EBS of the TPC-W data: 2,880 customers each.
    pub ebs: u32,
    /// NUM_ITEMS of the TPC-W data.
    pub items: u32,
    /// How long points of the published controller wait for its limit.
    pub settle: Settle,
    pub shopping: Times,
    /// The workload whose misses grow.
    pub reread: Times,
    pub second: Second,
    /// When the number of clients changes, and how it is measured.
    pub step: StepPlan,
    pub server_cpus: String,
    pub generator_cpus: String,
    /// Where all this ran.
    pub machine: MachineRecord,
}

impl Setting {
    /// How long points of this way wait for the limit.
    pub fn settle_of(&self, way: Treatment) -> Option<Settle> {
        (way == Treatment::Reflection).then_some(self.settle)
    }

    /// How long a point of a workload is measured.
    pub fn times(&self, load: Load) -> Times {
        match load {
            Load::Shopping => self.shopping,
            Load::Reread => self.reread,
        }
    }
}
