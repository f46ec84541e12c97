use super::gap::Gap;
use super::threshold::LITTLE;
use std::fmt;

/// What may make response times differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Suspect {
    Network,
    Disk,
    /// How many pages have to be read: how rows lie in their files.
    Layout,
    Plan,
    /// What is drawn anew when a server starts: its addresses in memory, for one.
    Start,
    Stolen,
    Neighbours,
}

impl Suspect {
    pub const ALL: [Self; 7] =
        [Self::Network, Self::Disk, Self::Layout, Self::Plan, Self::Start, Self::Stolen, Self::Neighbours];

    pub fn word(self) -> &'static str {
        ["network", "disk", "layout", "plan", "start", "stolen-cpu", "neighbours"][self as usize]
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::Network => "the network",
            Self::Disk => "the disk",
            Self::Layout => "the storage layout",
            Self::Plan => "the plan",
            Self::Start => "the start of the server",
            Self::Stolen => "stolen CPU time",
            Self::Neighbours => "neighbours on its CPUs",
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
    pub figure: Option<Figure>,
}

impl Verdict {
    pub(super) fn undecided(suspect: Suspect, evidence: impl Into<String>) -> Self {
        Self { suspect, ruling: Ruling::Undecided, evidence: evidence.into(), figure: None }
    }

    /// With another ruling, and why.
    pub(super) fn but(self, ruling: Ruling, why: &str) -> Self {
        Self { ruling, evidence: format!("{} {why}", self.evidence), ..self }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    pub name: &'static str,
    pub value: f64,
    pub interval: Option<(f64, f64)>,
}

impl Figure {
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
    /// By how much two halves of the runs of one target differ, ms: of the target of which that is more.
    pub halves_ms: f64,
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
    }

    pub fn causes(&self) -> impl Iterator<Item = Suspect> + '_ {
        let named = self.verdicts.iter().filter(|verdict| verdict.ruling == Ruling::Cause);
        named.map(|verdict| verdict.suspect)
    }
}
