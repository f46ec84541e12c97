use crate::caveat::threshold::LOST_MAX;
use crate::stability::Stability;

/// Share of its CPUs that server and neighbours together use where CPU is what limits the server.
pub const FULL_MIN: f64 = 0.9;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunAt {
    pub rate: f64,
    pub seconds: f64,
    pub arrivals: u64,
    pub completed: u64,
    /// Share of the arrivals that failed, timed out or were never sent.
    pub lost: f64,
    /// Share of the arrivals that failed by errors that no load brings about, as far as is known. It is part of `lost`: such a rate is
    /// not carried, and it was not refused either.
    pub failed: f64,
    /// Whether the response came to rest; `None` of a run too short to tell.
    pub settled: Option<bool>,
    pub valid: bool,
    /// CPU seconds of the server per second; `None` where they cannot be seen.
    pub cpu: Option<f64>,
    /// CPUs that the server may use; `None` where they cannot be seen.
    pub cpus: Option<f64>,
    /// CPU seconds per second that others and the hypervisor took of these CPUs; `None` where they cannot be seen.
    pub taken: Option<f64>,
    /// What was done while nobody disturbed; `None` where that cannot be seen.
    pub clear: Option<Clear>,
}

/// What a run brought in the stretches that nobody disturbed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clear {
    /// Length of these stretches together, seconds.
    pub seconds: f64,
    pub completed: u64,
    /// Share of the CPUs' time that others took in them all the same, since a stretch tells no less.
    pub taken: f64,
}

impl RunAt {
    /// Completions per second; zero of a run without length.
    pub fn throughput(&self) -> f64 {
        if self.seconds > 0.0 { self.completed as f64 / self.seconds } else { 0.0 }
    }

    /// Arrivals per second that chance made of the rate.
    pub fn offered(&self) -> f64 {
        if self.seconds > 0.0 { self.arrivals as f64 / self.seconds } else { 0.0 }
    }

    /// Whether server and neighbours together used nearly all of the CPUs, so that CPU is what limits the server.
    pub(super) fn cpu_is_full(&self) -> bool {
        let full = |cpu: f64, taken: f64, cpus: f64| cpu > 0.0 && cpu + taken >= FULL_MIN * cpus;
        matches!((self.cpu, self.taken, self.cpus), (Some(cpu), Some(taken), Some(cpus)) if full(cpu, taken, cpus))
    }

    pub fn is_failing(&self) -> bool {
        100.0 * self.failed > LOST_MAX
    }

    pub(super) fn kept_up(&self) -> bool {
        self.settled == Some(true) && 100.0 * self.lost <= LOST_MAX
    }

    pub(super) fn fell_behind(&self) -> bool {
        self.settled == Some(false) || 100.0 * (self.lost - self.failed) > LOST_MAX
    }
}

/// What [`RunAt::settled`] is for this judgement; a run that was too short to tell is neither.
pub fn settled(stability: &Stability) -> Option<bool> {
    match stability {
        Stability::Settled => Some(true),
        Stability::Unstable(_) => Some(false),
        Stability::TooShort { .. } => None,
    }
}

/// Share of the CPUs' time that others took over all runs; `None` where it cannot be seen.
pub(super) fn taken(runs: &[&RunAt]) -> Option<f64> {
    let (mut taken, mut all) = (0.0, 0.0);
    for run in runs {
        if let (Some(seconds), Some(cpus)) = (run.taken, run.cpus) {
            taken += seconds * run.seconds;
            all += cpus * run.seconds;
        }
    }
    (all > 0.0).then(|| (taken / all).clamp(0.0, 1.0))
}
