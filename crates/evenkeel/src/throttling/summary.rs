//! Means over the repeats of each point.

use super::figures::{FIGURES, Figure};
use super::record::{Load, PointFile, StepFile, Way};
use evenkeel_core::statistics::Estimate;
use std::collections::BTreeSet;

/// A point over its repeats.
#[derive(Clone, Debug)]
pub struct Cell<'a> {
    /// What was asked.
    pub load: Load,
    /// What stood between.
    pub way: Way,
    /// Clients.
    pub clients: u32,
    /// Its runs, in the order of repeats.
    pub runs: Vec<&'a PointFile>,
}

impl Cell<'_> {
    /// The values of a figure, of those runs that have it.
    pub fn values(&self, figure: &Figure) -> Vec<f64> {
        let value = |run: &&PointFile| (figure.of)(&run.figures).filter(|value| value.is_finite());
        self.runs.iter().filter_map(value).collect()
    }

    /// Mean of a figure with its interval; `None` where no run has it.
    pub fn estimate(&self, figure: &Figure) -> Option<Estimate> {
        Estimate::of(&self.values(figure))
    }

    /// Runs whose limit had settled before; `None` where it was not waited for.
    pub fn settled(&self) -> Option<usize> {
        let waited: Vec<bool> = self.runs.iter().filter_map(|run| Some(run.settling?.settled)).collect();
        (!waited.is_empty()).then(|| waited.into_iter().filter(|settled| *settled).count())
    }

    /// Mean of a figure.
    pub fn mean(&self, figure: &Figure) -> Option<f64> {
        self.estimate(figure).map(|estimate| estimate.mean)
    }
}

/// All points that have runs, by workload, way and clients.
pub fn cells(points: &[PointFile]) -> Vec<Cell<'_>> {
    let of = |point: &PointFile| (point.key.load, point.key.way, point.key.clients);
    let names: BTreeSet<_> = points.iter().map(of).collect();
    let cell = |(load, way, clients)| {
        let mut runs: Vec<&PointFile> =
            points.iter().filter(|point| of(point) == (load, way, clients)).collect();
        runs.sort_by_key(|run| run.key.repeat);
        Cell { load, way, clients, runs }
    };
    names.into_iter().map(cell).collect()
}

/// The cells of one curve, by clients.
pub fn curve<'a, 'b>(cells: &'b [Cell<'a>], load: Load, way: Way) -> Vec<&'b Cell<'a>> {
    cells.iter().filter(|cell| cell.load == load && cell.way == way).collect()
}

/// Whether any run of these has the figure.
pub fn is_known(cells: &[Cell<'_>], load: Load, figure: &Figure) -> bool {
    cells.iter().any(|cell| cell.load == load && !cell.values(figure).is_empty())
}

/// The figures that any run has, in the order of columns.
pub fn known(cells: &[Cell<'_>], load: Load) -> Vec<&'static Figure> {
    FIGURES.iter().filter(|figure| is_known(cells, load, figure)).collect()
}

/// A second after a step, over repeats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// Its end, from the step.
    pub after_s: f64,
    /// Mean.
    pub mean: f64,
    /// Least and largest of the repeats.
    pub range: (f64, f64),
}

/// What a step looked like, second by second over its repeats.
pub fn moments(
    steps: &[StepFile],
    way: Way,
    of: fn(&super::record::StepSecond) -> Option<f64>,
) -> Vec<Moment> {
    let runs: Vec<&StepFile> = steps.iter().filter(|step| step.way == way).collect();
    let length = runs.iter().map(|run| run.seconds.len()).max().unwrap_or(0);
    let moment = |at: usize| {
        let values: Vec<f64> = runs.iter().filter_map(|run| of(run.seconds.get(at)?)).collect();
        let first = runs.iter().find(|run| run.seconds.len() > at)?;
        let range = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(*value), high.max(*value))
        });
        let mean = Estimate::of(&values)?.mean;
        Some(Moment { after_s: first.seconds[at].at_s - first.step_at_s, mean, range })
    };
    (0..length).filter_map(moment).collect()
}

#[cfg(test)]
mod tests {
    use super::super::figures::named;
    use super::super::fixture::{falling, steps};
    use super::*;

    #[test]
    fn repeats_become_a_mean_with_an_interval() {
        let points = falling();
        let cells = cells(&points);
        let curve = curve(&cells, Load::Shopping, Way::Direct);
        assert_eq!(curve.iter().map(|cell| cell.clients).collect::<Vec<_>>(), [1, 8, 64]);
        let estimate = curve[1].estimate(named("throughput_per_s")).unwrap();
        assert_eq!(estimate.n, 3);
        assert!(estimate.contains(1_000.0), "{estimate:?}");
    }

    #[test]
    fn what_no_run_has_is_not_known() {
        let points = falling();
        let cells = cells(&points);
        assert!(!is_known(&cells, Load::Shopping, named("dtlb_misses_per_commit")));
        assert!(is_known(&cells, Load::Shopping, named("cpu_ms_per_commit")));
        assert!(curve(&cells, Load::Shopping, Way::Direct)[0].estimate(named("limit_mean")).is_none());
    }

    #[test]
    fn a_step_is_told_from_its_own_instant() {
        let steps = steps();
        let moments = moments(&steps, Way::Evenkeel, |second| second.limit);
        assert_eq!(moments[0], Moment { after_s: -1.0, mean: 8.0, range: (8.0, 8.0) });
        assert_eq!(moments.last().map(|moment| moment.range), Some((3.0, 5.0)));
    }
}
