//! How often intervals hold what they are about: virtual cells, measured again and again, against the theory.
//!
//! Of each seed and load one run in overload, which finds the saturation as a study does, and as many runs as the largest number of
//! repeats are simulated; fewer repeats take the first of them. So cells of one load share runs, and each cell has one try of each
//! seed. The saturation says how long the runs last, and whether an interval has two ends.
//!
//! What an interval would be with the true variance is found from the same tries: the mean squared error of the estimate from all
//! runs of a seed, times their length, is the variance for a second, and that of `T` seconds is the `T`th part.

use super::VirtualCell;
use evenkeel_core::Nanos;
use evenkeel_core::arrivals::RateError;
use evenkeel_core::random::Seed;
use evenkeel_core::statistics::CONFIDENCE;
use evenkeel_core::statistics::normal_quantile;
use evenkeel_core::statistics::pooled::{Bounds, Overall, Pooled, Run, length, relaxation_by};

#[derive(Clone, Debug, PartialEq)]
pub struct CoveragePlan {
    /// Utilisations, above 0 and below 1.
    pub loads: Vec<f64>,
    /// Numbers of runs, 2 at least.
    pub repeats: Vec<usize>,
    pub service: Nanos,
    /// Length of the run in overload and least of the others.
    pub base: Nanos,
    /// Whether runs grow with the memory of their queue, as those of fixed rates do; else all last as long as the base, as those of
    /// a sequence do.
    pub grow: bool,
}

/// The figures that are judged, in this order everywhere.
pub const FIGURES: [&str; 3] = ["tau", "p95", "throughput"];

#[derive(Clone, Debug, PartialEq)]
pub struct Try {
    pub load: usize,
    pub repeats: usize,
    pub seconds: f64,
    /// Figures, relative to the truth: 1 is right.
    pub figures: [Option<Overall>; 3],
}

impl CoveragePlan {
    fn cell(&self, load: usize) -> VirtualCell {
        VirtualCell { load: self.loads[load], service: self.service, base: self.base }
    }

    pub fn tries(&self, seed: Seed) -> Result<Vec<Try>, RateError> {
        let most = self.repeats.iter().copied().max().unwrap_or(0) as u64;
        let mut tries = Vec::with_capacity(self.loads.len() * self.repeats.len());
        for load in 0..self.loads.len() {
            let (cell, seed) = (self.cell(load), seed.child("load").numbered(load as u64));
            let saturation = cell.saturation(seed.child("saturation"))?;
            let (warm_up, seconds) = self.lengths(&cell, saturation);
            let run = |number| cell.run(warm_up, seconds, seed.child("run").numbered(number));
            let runs: Vec<Run> = (0..most).map(run).collect::<Result<_, _>>()?;
            let memory = relaxation_by(saturation, cell.rate());
            let cell = (&cell, memory);
            tries.extend((0..self.repeats.len()).map(|repeats| self.attempt(cell, &runs, (load, repeats))));
        }
        Ok(tries)
    }

    fn lengths(&self, cell: &VirtualCell, saturation: f64) -> (f64, f64) {
        let base = self.base.as_secs_f64();
        let grown = length(saturation, cell.rate(), base);
        if self.grow { (grown.warm_up, grown.seconds) } else { (base / 4.0, base) }
    }

    fn attempt(
        &self,
        (cell, memory): (&VirtualCell, f64),
        runs: &[Run],
        (load, repeats): (usize, usize),
    ) -> Try {
        let runs = &runs[..self.repeats[repeats]];
        let pooled = Pooled::of(runs, Some(memory));
        let pooled = pooled.as_ref();
        let relative = |figure: Option<Overall>, truth: f64| figure.map(|figure| figure.scaled(1.0 / truth));
        Try {
            load,
            repeats,
            seconds: runs.iter().map(|run| run.seconds).sum(),
            figures: [
                relative(pooled.and_then(Pooled::tau), cell.tau()),
                relative(pooled.and_then(|pooled| pooled.percentile(0.95)), cell.percentile(0.95)),
                relative(pooled.and_then(Pooled::throughput), cell.rate()),
            ],
        }
    }
}

/// What came of all tries of a figure of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Coverage {
    pub load: f64,
    pub repeats: usize,
    /// One of [`FIGURES`].
    pub figure: &'static str,
    /// Tries that were made, also those without an interval.
    pub tries: u64,
    /// Those that showed an interval with two ends.
    pub shown: u64,
    pub held: u64,
    pub below: u64,
    /// Tries that showed a lower bound only.
    pub bounds: u64,
    pub bounds_held: u64,
    /// Median width of intervals with two ends, relative to that with the true variance; `None` where none was shown.
    pub width: Option<f64>,
    /// Mean of the estimate relative to the truth.
    pub mean: f64,
    /// Mean length of a run in seconds.
    pub seconds: f64,
}

pub fn judge(plan: &CoveragePlan, tries: &[Try]) -> Vec<Coverage> {
    let mut all = Vec::new();
    for load in 0..plan.loads.len() {
        for figure in 0..FIGURES.len() {
            let here: Vec<&Try> = tries.iter().filter(|one| one.load == load).collect();
            let variance = variance_of_a_second(plan, &here, figure);
            for repeats in 0..plan.repeats.len() {
                let cell: Vec<&Try> = here.iter().filter(|one| one.repeats == repeats).copied().collect();
                all.push(coverage(plan, (load, repeats, figure), &cell, variance));
            }
        }
    }
    all
}

/// Mean of length times squared relative error, over the tries with the most runs.
fn variance_of_a_second(plan: &CoveragePlan, tries: &[&Try], figure: usize) -> f64 {
    let most = plan.repeats.iter().copied().max();
    let products = tries.iter().filter(|one| most == Some(plan.repeats[one.repeats])).filter_map(|one| {
        let value = one.figures[figure]?.value;
        Some(one.seconds * (value - 1.0).powi(2))
    });
    mean(&products.collect::<Vec<_>>())
}

fn coverage(
    plan: &CoveragePlan,
    (load, repeats, figure): (usize, usize, usize),
    tries: &[&Try],
    variance: f64,
) -> Coverage {
    let figures = || tries.iter().filter_map(|one| Some((one.seconds, one.figures[figure]?)));
    let mut found = Coverage {
        load: plan.loads[load],
        repeats: plan.repeats[repeats],
        figure: FIGURES[figure],
        tries: tries.len() as u64,
        shown: 0,
        held: 0,
        below: 0,
        bounds: 0,
        bounds_held: 0,
        width: None,
        mean: mean(&figures().map(|(_, figure)| figure.value).collect::<Vec<_>>()),
        seconds: mean(&tries.iter().map(|one| one.seconds).collect::<Vec<_>>())
            / plan.repeats[repeats] as f64,
    };
    let mut widths = Vec::new();
    let normal = normal_quantile(f64::midpoint(1.0, CONFIDENCE));
    for (seconds, figure) in figures() {
        if let Bounds::TwoSided { low, high } = figure.bounds {
            widths.push((high - low) / (2.0 * normal * (variance / seconds).sqrt()));
        }
        found.add(figure.bounds);
    }
    widths.sort_by(f64::total_cmp);
    found.width = widths.get(widths.len() / 2).copied();
    found
}

impl Coverage {
    fn add(&mut self, bounds: Bounds) {
        match bounds {
            Bounds::TwoSided { low, high } => {
                self.shown += 1;
                self.held += u64::from((low..=high).contains(&1.0));
                self.below += u64::from(high < 1.0);
            }
            Bounds::AtLeast(low) => {
                self.bounds += 1;
                self.bounds_held += u64::from(low <= 1.0);
            }
            Bounds::None => {}
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> CoveragePlan {
        CoveragePlan {
            loads: vec![0.5, 0.8, 0.95],
            repeats: vec![3, 5],
            service: Nanos::from_millis(4),
            base: Nanos::from_secs(8),
            grow: true,
        }
    }

    const SEEDS: u64 = 400;

    fn all(plan: &CoveragePlan, seeds: u64) -> Vec<Coverage> {
        let tries: Vec<Try> = (0..seeds).flat_map(|seed| plan.tries(Seed(seed)).unwrap()).collect();
        judge(plan, &tries)
    }

    /// The fewest of so many intervals that hold the truth where each does in 95 %: fewer come with a probability below 0.001
    /// (binomial).
    fn fewest(of: u64) -> u64 {
        let miss = 1.0 - CONFIDENCE;
        let (mut missed, mut term) = (0, CONFIDENCE.powf(of as f64));
        let mut likely = term;
        while likely < 0.999 && missed < of {
            term *= (of - missed) as f64 / (missed + 1) as f64 * miss / CONFIDENCE;
            missed += 1;
            likely += term;
        }
        of - missed
    }

    /// Cells of which fewer intervals or bounds hold than chance explains.
    fn short(cells: &[Coverage]) -> Vec<&Coverage> {
        let is_short =
            |cell: &&Coverage| cell.held < fewest(cell.shown) || cell.bounds_held < fewest(cell.bounds);
        cells.iter().filter(is_short).collect()
    }

    #[test]
    fn intervals_of_pooled_figures_hold_and_long_queues_have_bounds() {
        let cells = all(&plan(), SEEDS);
        assert_eq!(short(&cells), Vec::<&Coverage>::new());
        for cell in &cells {
            assert_eq!(cell.tries, SEEDS);
            let is_response = cell.figure != "throughput";
            assert!(!(is_response && cell.load > 0.9) || 20 * cell.bounds >= 19 * SEEDS, "{cell:?}");
            assert!(cell.load > 0.6 || cell.shown == SEEDS, "{cell:?}");
        }
    }

    #[test]
    fn runs_that_do_not_grow_show_no_upper_end_where_they_are_short_for_their_queue() {
        let plan = CoveragePlan { grow: false, loads: vec![0.6, 0.8, 0.9], ..plan() };
        for cell in all(&plan, 100) {
            assert_eq!(cell.seconds, 8.0);
            if cell.figure != "throughput" {
                // At 0.8 a run lasts 22 relaxation times; the saturation errs by 2 %, so that a few are taken for 30.
                assert!(if cell.load < 0.7 { cell.shown >= 98 } else { cell.shown <= 10 }, "{cell:?}");
                // Those that decided by their own backlog were the lucky ones, of which nine in ten lay below the truth.
                assert!(cell.load < 0.7 || cell.below <= 4, "{cell:?}");
            }
        }
    }
}
