//! Rates at which no request was answered at all, which say nothing of what is carried where the server did nothing meanwhile.

use crate::store::format::CellSummary;
use evenkeel_core::caveat::{UNUSED_THETA_MAX, most_failed};

/// What is known where no request was answered at any rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unanswered {
    /// Requests that arrived.
    pub arrivals: u64,
    /// Utilisation of the server in percent at the rate at which it was used most; `None` where it was not seen.
    pub theta_percent: Option<f64>,
}

impl Unanswered {
    /// From all cells of a study or of a series; `None` where one request was answered, none arrived, or errors say why.
    pub fn of<'a>(cells: impl IntoIterator<Item = &'a CellSummary>) -> Option<Self> {
        let (mut arrivals, mut failed, mut theta_percent) = (0, 0, None::<f64>);
        for cell in cells {
            if cell.counts.completed > 0 {
                return None;
            }
            arrivals += cell.counts.arrivals;
            failed += cell.counts.failed.values().sum::<u64>();
            let theta = (cell.theta_percent.n > 0).then_some(cell.theta_percent.mean);
            theta_percent =
                theta.map_or(theta_percent, |theta| Some(theta_percent.unwrap_or(0.0).max(theta)));
        }
        (arrivals > 0 && !most_failed(failed, arrivals)).then_some(Self { arrivals, theta_percent })
    }

    /// Whether the server was seen to have nothing to do: then it is not overloaded, and no rate was too much for it.
    pub fn is_unused(&self) -> bool {
        self.theta_percent.is_some_and(|theta| theta < UNUSED_THETA_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::format::{CountsRecord, EstimateRecord};
    use std::collections::BTreeMap;

    fn cell(completed: u64, timed_out: u64, failed: u64, theta: Option<f64>) -> CellSummary {
        let failed_by = BTreeMap::from([(1205, failed)]);
        let arrivals = completed + timed_out + failed;
        let theta_percent = EstimateRecord {
            mean: theta.unwrap_or(0.0),
            n: theta.iter().len() as u32,
            ..EstimateRecord::default()
        };
        let counts =
            CountsRecord { arrivals, completed, timed_out, failed: failed_by, ..CountsRecord::default() };
        CellSummary { counts, theta_percent, ..CellSummary::default() }
    }

    #[test]
    fn one_answer_or_errors_that_say_why_are_not_the_want_of_any_answer() {
        let of = |cells: &[CellSummary]| Unanswered::of(cells);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[cell(1, 5, 0, None), cell(0, 5, 0, None)]), None);
        assert_eq!(of(&[cell(0, 1, 5, None)]), None);
        let both = of(&[cell(0, 9, 1, Some(2.0)), cell(0, 20, 0, Some(1.0))]);
        assert_eq!(both, Some(Unanswered { arrivals: 30, theta_percent: Some(2.0) }));
        assert!(both.is_some_and(|found| found.is_unused()));
        assert!(!of(&[cell(0, 9, 0, Some(97.0))]).unwrap().is_unused());
        assert!(!of(&[cell(0, 9, 0, None)]).unwrap().is_unused(), "nobody saw it");
    }
}
