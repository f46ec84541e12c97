//! What runs come to: each way at each most window, over rounds.

use super::record::{Figures, Run, Setting};
use super::{NAMES, PARDA, PUBLISHED_MOST, Published, UNCONTROLLED};
use evenkeel_core::share::experiment::Treatment as Way;
use std::fmt;

/// A window this near to the most is at the most.
const AT_MOST: f64 = 0.95;

/// Values of rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// In the middle.
    pub median: f64,
    /// Least.
    pub low: f64,
    /// Largest.
    pub high: f64,
}

impl Spread {
    /// Of values that are numbers; `None` without any.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (*sorted.first()?, *sorted.last()?);
        let (before, after) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        Some(Self { median: (before + after) / 2.0, low, high })
    }
}

/// What keeps the ratio of orders from that of the shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Host b wants less than its window.
    Demand,
    /// The window of host b is the largest there may be.
    MostWindow,
    /// Neither.
    Neither,
}

impl fmt::Display for Bound {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Demand => "demand",
            Self::MostWindow => "most window",
            Self::Neither => "neither",
        })
    }
}

/// Runs of a way at a most window.
#[derive(Clone, Debug)]
pub struct Cell<'a> {
    /// What sets the windows.
    pub way: Way,
    /// Most window of a host.
    pub most: u32,
    /// By round.
    pub runs: Vec<&'a Run>,
    /// Of each round that has both, orders of both hosts over those of both uncontrolled.
    kept: Vec<f64>,
}

/// The cells that have a run, in the order of the setting.
pub fn cells<'a>(setting: &Setting, runs: &'a [Run]) -> Vec<Cell<'a>> {
    let of = |way: Way, most: u32| runs.iter().filter(move |run| run.key.way == way && run.key.most == most);
    let mut cells = Vec::new();
    for &most in &setting.most {
        for &way in &setting.ways {
            let kept = of(way, most).filter_map(|run| {
                let free = of(Way::Uncontrolled, most).find(|free| free.key.round == run.key.round)?;
                Some(run.total() / free.total())
            });
            cells.push(Cell { way, most, kept: kept.collect(), runs: of(way, most).collect() });
        }
    }
    cells.retain(|cell| !cell.runs.is_empty());
    cells
}

impl Cell<'_> {
    /// A figure of a host, by its place.
    pub fn figure(&self, host: usize, figure: impl Fn(&Figures) -> f64) -> Option<Spread> {
        Spread::of(self.runs.iter().map(|run| figure(&run.hosts[host])))
    }

    /// A figure of runs.
    pub fn over_runs(&self, figure: impl Fn(&Run) -> Option<f64>) -> Option<Spread> {
        Spread::of(self.runs.iter().filter_map(|run| figure(run)))
    }

    /// Orders of host b over those of host a.
    pub fn ratio(&self) -> Option<Spread> {
        self.over_runs(Run::ratio)
    }

    /// Orders of both over those of both uncontrolled at the same most window, round by round.
    pub fn kept(&self) -> Option<Spread> {
        Spread::of(self.kept.iter().copied()).filter(|_| self.way != Way::Uncontrolled)
    }

    /// What bounds the ratio by a law; nothing is bound without one.
    pub fn bound(&self) -> Option<Bound> {
        let last = NAMES.len() - 1;
        let window = self.figure(last, |host| host.window)?.median;
        let wanted = self.figure(last, |host| host.wanted)?.median;
        (self.way != Way::Uncontrolled).then_some(())?;
        Some(match () {
            () if window >= AT_MOST * f64::from(self.most) => Bound::MostWindow,
            () if wanted < window => Bound::Demand,
            () => Bound::Neither,
        })
    }

    /// What was published of it.
    pub fn published(&self) -> Option<&'static Published> {
        match (self.way, self.most) {
            (Way::Uncontrolled, PUBLISHED_MOST) => Some(&UNCONTROLLED),
            (Way::Parda, PUBLISHED_MOST) => Some(&PARDA),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{run, setting};
    use super::*;

    #[test]
    fn a_spread_has_the_middle_and_both_ends() {
        let spread = |values: &[f64]| Spread::of(values.iter().copied());
        assert_eq!(spread(&[3.0, 1.0, f64::NAN, 2.0]), Some(Spread { median: 2.0, low: 1.0, high: 3.0 }));
        assert_eq!(spread(&[1.0, 2.0]).map(|spread| spread.median), Some(1.5));
        assert_eq!(spread(&[]), None);
    }

    #[test]
    fn a_cell_compares_its_rounds_with_the_same_rounds_without_control() {
        let runs = [
            run(Way::Uncontrolled, 32, 1, [1_000.0, 1_000.0]),
            run(Way::Uncontrolled, 32, 2, [500.0, 500.0]),
            run(Way::Evenkeel, 32, 1, [400.0, 1_400.0]),
            run(Way::Evenkeel, 32, 2, [300.0, 900.0]),
            run(Way::Evenkeel, 64, 1, [300.0, 900.0]),
        ];
        let cells = cells(&setting(), &runs);
        let names: Vec<(&str, u32)> = cells.iter().map(|cell| (cell.way.name(), cell.most)).collect();
        assert_eq!(names, [("uncontrolled", 32), ("evenkeel", 32), ("evenkeel", 64)]);
        let ours = &cells[1];
        assert_eq!(ours.ratio(), Some(Spread { median: 3.25, low: 3.0, high: 3.5 }));
        assert_eq!(ours.kept().map(|kept| (kept.low, kept.high)), Some((0.9, 1.2)));
        assert_eq!((cells[2].kept(), cells[0].kept()), (None, None));
    }

    #[test]
    fn what_bounds_the_ratio_is_told_by_the_favoured_host() {
        let bound = |way, window, wanted| {
            let mut run = run(way, 32, 1, [1.0, 1.0]);
            (run.hosts[1].window, run.hosts[1].wanted) = (window, wanted);
            let runs = [run];
            cells(&setting(), &runs)[0].bound()
        };
        assert_eq!(bound(Way::Parda, 31.0, 20.0), Some(Bound::MostWindow));
        assert_eq!(bound(Way::Parda, 20.0, 15.0), Some(Bound::Demand));
        assert_eq!(bound(Way::Evenkeel, 10.0, 15.0), Some(Bound::Neither));
        assert_eq!(bound(Way::Uncontrolled, 32.0, 15.0), None);
    }
}
