//! Response times of one kind of statement on two sides, and whether the second side is slower.
//!
//! The logarithms of the ratios are averaged, so that the ratio is that of typical times and one slow answer does not decide. They are
//! kept as sums of consecutive executions, of which two become one whenever there are too many: as many blocks from few executions
//! as from millions, each of as many executions, from which `BatchMeans` knows how much neighbours depend on one another.

use crate::format;
use evenkeel_core::Nanos;
use evenkeel_core::statistics::{BatchMeans, Estimate, Ratio, holm, student_tail};
use serde::Serialize;

/// Blocks that are kept; merged, half as many.
const BLOCKS: usize = 40;
/// Fewer say nothing of how far they vary.
const BLOCKS_MIN: usize = 5;
/// How often any of all verdicts "worse" and "better" may be wrong.
const ALPHA: f64 = 0.05;

#[derive(Clone, Debug, Default)]
pub(super) struct Times {
    /// Executions and the sum of their logarithms, all of `size` but the last.
    blocks: Vec<(u64, f64)>,
    size: u64,
    executions: u64,
}

/// What the times of a kind of statement say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timing {
    /// Those that have both times.
    pub executions: u64,
    /// Second over first, of typical times (geometric means).
    pub ratio: f64,
    /// 95 %.
    pub interval: Option<(f64, f64)>,
    /// How probable such a ratio is where the sides differ by no more than the tolerance.
    pub p: Option<f64>,
    pub speed: Speed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Speed {
    Worse,
    NotKnown,
    /// Within the tolerance.
    Same,
    Better,
}

impl Speed {
    pub fn words(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::NotKnown => "too few to tell",
            Self::Same => "same",
            Self::Better => "better",
        }
    }
}

impl Timing {
    /// `1.52 (1.44 to 1.60)`.
    pub fn words(&self) -> String {
        format::ratio(&Ratio { n: self.executions, ratio: self.ratio, interval: self.interval })
    }
}

impl Times {
    /// Adds an execution. One that took no time was not measured.
    pub fn add(&mut self, times: [Nanos; 2]) {
        let [first, second] = times.map(Nanos::as_millis_f64);
        if first == 0.0 || second == 0.0 {
            return;
        }
        self.executions += 1;
        let log = (second / first).ln();
        match self.blocks.last_mut() {
            Some((count, sum)) if *count < self.size => {
                *count += 1;
                *sum += log;
            }
            _ => self.begin(log),
        }
    }

    pub fn executions(&self) -> u64 {
        self.executions
    }

    fn begin(&mut self, log: f64) {
        self.size = self.size.max(1);
        if self.blocks.len() == BLOCKS {
            let merged =
                |pair: &[(u64, f64)]| pair.iter().fold((0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            self.blocks = self.blocks.chunks(2).map(merged).collect();
            self.size *= 2;
        }
        // Where merging has made blocks larger, this one begins alike.
        self.blocks.push((1, log));
    }

    fn means(&self) -> Option<BatchMeans> {
        BatchMeans::of(&self.blocks, self.blocks.len())
    }

    /// `None` where too little was measured to say anything of a difference.
    fn p(&self, limit: f64) -> Option<f64> {
        let means = self.means().filter(|means| means.batches >= BLOCKS_MIN)?;
        let error = means.mean.standard_error()?;
        let tail = |beyond: f64| {
            // Nothing beyond the limit and no variation: no number, and no evidence.
            let t = beyond / error;
            if t.is_nan() { 1.0 } else { student_tail(t, (means.independent - 1.0).max(1.0)) }
        };
        let mean = means.mean.mean;
        Some((2.0 * tail(mean - limit).min(tail(-limit - mean))).min(1.0))
    }

    fn timing(&self, limit: f64, stands: bool) -> Option<Timing> {
        let mean = self.means()?.mean;
        let p = self.p(limit);
        let interval = mean.error.filter(|_| p.is_some()).map(|error| (error.low.exp(), error.high.exp()));
        Some(Timing {
            executions: self.executions,
            ratio: mean.mean.exp(),
            interval,
            p,
            speed: speed(&mean, limit, stands, p.is_some()),
        })
    }
}

fn speed(mean: &Estimate, limit: f64, stands: bool, is_known: bool) -> Speed {
    let is_within = mean.error.is_some_and(|error| error.low >= -limit && error.high <= limit);
    match is_known {
        true if stands && mean.mean > 0.0 => Speed::Worse,
        true if stands => Speed::Better,
        true if is_within => Speed::Same,
        _ => Speed::NotKnown,
    }
}

/// The verdicts on all kinds together, so that with 95 % none is wrong (Holm); `None` of a kind that has no times.
pub(super) fn judged<'a>(all: impl Iterator<Item = &'a Times>, tolerance: f64) -> Vec<Option<Timing>> {
    let limit = tolerance.ln_1p();
    let all: Vec<(&Times, Option<f64>)> = all.map(|times| (times, times.p(limit))).collect();
    let known: Vec<f64> = all.iter().filter_map(|(_, p)| *p).collect();
    let mut stands = holm(&known, ALPHA).into_iter();
    all.iter().map(|(times, p)| times.timing(limit, p.is_some() && stands.next() == Some(true))).collect()
}
