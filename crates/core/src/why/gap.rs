use super::observation::Observation;
use crate::statistics::{CONFIDENCE, Sample, student_quantile};
use std::collections::BTreeSet;

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
