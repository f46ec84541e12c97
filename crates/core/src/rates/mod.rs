//! Which arrival rates to measure.
//!
//! [`RateSearch`] finds the highest rate that a server carries, [`spread`] lays rates below and around it, and
//! a [`Sweep`] goes through the rates of a [`RatePlan`] until the server carries no more.

mod search;

use crate::arrivals::{RATE_MAX, RateError, check_rate};
pub use search::{GENTLE_START, PROBES_MAX, ProbeOutcome, RateSearch, Saturation, SearchFailure, SearchStep};
use std::fmt;

/// Fewest rates that make a profile: one at rest, one busy, one in overload.
pub const RATES_MIN: usize = 3;

/// The lowest rate, as a share of the saturation.
const LOWEST: f64 = 0.2;

/// The highest below saturation: the estimate of the saturation is good to 5 %.
const HIGHEST: f64 = 0.95;

/// The one rate above saturation, which shows how the server fails.
const OVERLOAD: f64 = 1.1;

/// `n` rates, rising, for a server that saturates at this rate: `n - 1` from 20 to 95 % of it, closer together
/// the nearer the knee, and one at 110 %. At least [`RATES_MIN`]. Rounded to steps of 1, 2 or 5 times a power of
/// ten, by at most 1 %.
///
/// With `x` from 0 to 1 in equal steps, the share is `0.95 - 0.75 (1 - x)^1.5`; for eight rates 20, 38, 54, 68,
/// 81, 90, 95 and 110 %.
pub fn spread(saturation: f64, n: usize) -> Vec<f64> {
    let exact: Vec<f64> = shares(n.max(RATES_MIN)).map(|share| share * saturation).collect();
    let rounded: Vec<f64> = exact.iter().map(|&rate| round(rate)).collect();
    // So many rates that rounding makes two equal are left as they are.
    if rounded.is_sorted_by(|one, next| one < next) { rounded } else { exact }
}

fn shares(n: usize) -> impl Iterator<Item = f64> {
    let below = move |index| {
        let x = index as f64 / (n - 2) as f64;
        HIGHEST - (HIGHEST - LOWEST) * (1.0 - x).powf(1.5)
    };
    (0..n - 1).map(below).chain([OVERLOAD])
}

/// To the nearest multiple of the largest 1, 2 or 5 times a power of ten that is at most 2 % of the rate.
fn round(rate: f64) -> f64 {
    if !rate.is_finite() || rate <= 0.0 {
        return rate;
    }
    let finest = 0.02 * rate;
    let exponent = finest.log10().floor() as i32;
    let power = 10.0_f64.powi(exponent);
    let step = [5.0, 2.0, 1.0].into_iter().find(|factor| factor * power <= finest).unwrap_or(1.0);
    let steps = (rate / (step * power)).round() * step;
    // Dividing by a power of ten keeps 0.3 from becoming 0.30000000000000004.
    if exponent < 0 { steps / 10.0_f64.powi(-exponent) } else { steps * power }
}

/// Utilisation in percent at which a sweep ends.
const UTILISATION_CEILING: f64 = 100.0;

/// Measured utilisation comes this close to 100 % and no further, in percent: what the kernel does in
/// interrupts and what lies between two samples is missing.
const CEILING_TOLERANCE: f64 = 1.0;

#[derive(Clone, Debug, PartialEq)]
pub enum RatePlan {
    /// So many, laid around the saturation, which has to be searched first.
    Auto(usize),
    /// These, requests per second.
    List(Vec<f64>),
    /// From a rate on, in equal steps, until the sweep ends.
    Steps { from: f64, step: f64 },
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum RatePlanError {
    #[error(transparent)]
    Rate(#[from] RateError),
    #[error("there are no arrival rates to measure")]
    Empty,
    #[error("rates around the saturation need the saturation first")]
    NoSaturation,
}

impl RatePlan {
    pub fn needs_saturation(&self) -> bool {
        matches!(self, Self::Auto(_))
    }

    pub fn sweep(&self, saturation: Option<f64>) -> Result<Sweep, RatePlanError> {
        let rates = match self {
            Self::Auto(n) => Rates::listed(&spread(saturation.ok_or(RatePlanError::NoSaturation)?, *n))?,
            Self::List(rates) => Rates::listed(rates)?,
            Self::Steps { from, step } => Rates::Steps { from: check_rate(*from)?, step: check_rate(*step)? },
        };
        Ok(Sweep { rates, ceiling: self.ceiling(), done: 0, end: None })
    }

    /// The same through rates that were laid out before.
    pub fn sweep_through(&self, rates: &[f64]) -> Result<Sweep, RatePlanError> {
        Ok(Sweep { rates: Rates::listed(rates)?, ceiling: self.ceiling(), done: 0, end: None })
    }

    /// Rates around the saturation are there to show what lies on either side of it, so that 100 % of
    /// utilisation, which a server reaches before its response ceases to settle, does not end them.
    fn ceiling(&self) -> f64 {
        if matches!(self, Self::Auto(_)) { f64::INFINITY } else { UTILISATION_CEILING }
    }
}

#[derive(Clone, Debug)]
enum Rates {
    Listed(Vec<f64>),
    Steps { from: f64, step: f64 },
}

impl Rates {
    fn listed(rates: &[f64]) -> Result<Self, RatePlanError> {
        let mut rates = rates.iter().map(|&rate| check_rate(rate)).collect::<Result<Vec<_>, _>>()?;
        rates.sort_unstable_by(f64::total_cmp);
        rates.dedup();
        if rates.is_empty() { Err(RatePlanError::Empty) } else { Ok(Self::Listed(rates)) }
    }

    fn get(&self, index: usize) -> Option<f64> {
        match self {
            Self::Listed(rates) => rates.get(index).copied(),
            Self::Steps { from, step } => Some(from + step * index as f64).filter(|&rate| rate <= RATE_MAX),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellOutcome {
    pub utilisation: Option<f64>,
    pub settled: bool,
    pub refused: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SweepEnd {
    AllMeasured,
    Ceiling(f64),
    Unsettled,
    Refused,
}

impl fmt::Display for SweepEnd {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AllMeasured => write!(out, "all rates are measured"),
            Self::Ceiling(utilisation) => {
                write!(
                    out,
                    "the utilisation of {utilisation:.1} % reached the ceiling of {UTILISATION_CEILING:.0} %"
                )
            }
            Self::Unsettled => write!(out, "the response did not settle"),
            Self::Refused => write!(out, "the server refused connections"),
        }
    }
}

/// Goes through rates upwards until the server carries no more.
///
/// After a restart it is brought back to where it was by observing the finished cells again.
#[derive(Clone, Debug)]
pub struct Sweep {
    rates: Rates,
    ceiling: f64,
    done: usize,
    end: Option<SweepEnd>,
}

impl Sweep {
    pub fn rate(&self) -> Option<f64> {
        if self.end.is_some() { None } else { self.rates.get(self.done) }
    }

    /// Takes in the cell of [`Sweep::rate`] and goes on to the next. Ignored once the sweep is over.
    pub fn observe(&mut self, outcome: &CellOutcome) {
        if self.rate().is_none() {
            return;
        }
        self.done += 1;
        let ceiling = self.ceiling;
        let reached = |utilisation: &f64| *utilisation >= ceiling - CEILING_TOLERANCE;
        self.end = match outcome.utilisation.filter(reached) {
            _ if outcome.refused => Some(SweepEnd::Refused),
            _ if !outcome.settled => Some(SweepEnd::Unsettled),
            Some(utilisation) => Some(SweepEnd::Ceiling(utilisation)),
            None if self.rates.get(self.done).is_none() => Some(SweepEnd::AllMeasured),
            None => None,
        };
    }

    /// The rates that are left, from the lowest on: after the end those above it. Empty for steps, which have
    /// no last one.
    pub fn left(&self) -> &[f64] {
        match &self.rates {
            Rates::Listed(rates) => &rates[self.done.min(rates.len())..],
            Rates::Steps { .. } => &[],
        }
    }

    pub fn end(&self) -> Option<SweepEnd> {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn eight_rates_for_a_thousand_per_second() {
        assert_eq!(spread(1_000.0, 8), [200.0, 380.0, 540.0, 680.0, 810.0, 900.0, 950.0, 1_100.0]);
        assert_eq!(spread(41.3, 3), [8.3, 39.0, 45.5]);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(round(1_234.0), 1_240.0);
        assert_eq!(round(0.387), 0.385);
        assert_eq!(round(0.3), 0.3);
        assert_eq!(round(98.6), 99.0);
        assert_eq!(round(0.0), 0.0);
    }

    proptest! {
        #[test]
        fn rates_rise_from_a_fifth_to_above_saturation(saturation in 0.01..1e7_f64, n in 3..60_usize) {
            let rates = spread(saturation, n);
            prop_assert_eq!(rates.len(), n);
            prop_assert!(rates.is_sorted_by(|one, next| one < next));
            prop_assert!((rates[0] / saturation / 0.2 - 1.0).abs() < 0.013);
            prop_assert!((rates[n - 1] / saturation / 1.1 - 1.0).abs() < 0.013);
            prop_assert!(rates[n - 2] < saturation);
        }

        #[test]
        fn rates_lie_closer_together_near_the_knee(n in 4..12_usize) {
            let shares: Vec<f64> = shares(n).collect();
            let gaps: Vec<f64> = shares[..n - 1].windows(2).map(|pair| pair[1] - pair[0]).collect();
            prop_assert!(gaps.is_sorted_by(|one, next| one > next), "{gaps:?}");
        }
    }

    const FINE: CellOutcome = CellOutcome { utilisation: Some(40.0), settled: true, refused: false };

    /// The rates that are measured when the cell at index `last` is `outcome` and all before are fine.
    fn measured(plan: &RatePlan, last: usize, outcome: CellOutcome) -> (Vec<f64>, Option<SweepEnd>) {
        let mut sweep = plan.sweep(Some(100.0)).unwrap();
        let mut rates = Vec::new();
        while let Some(rate) = sweep.rate() {
            sweep.observe(if rates.len() == last { &outcome } else { &FINE });
            rates.push(rate);
        }
        sweep.observe(&FINE);
        (rates, sweep.end())
    }

    #[test]
    fn steps_go_on_until_the_server_carries_no_more() {
        let plan = RatePlan::Steps { from: 10.0, step: 10.0 };
        let (rates, end) = measured(&plan, 4, CellOutcome { settled: false, ..FINE });
        assert_eq!((rates, end), (vec![10.0, 20.0, 30.0, 40.0, 50.0], Some(SweepEnd::Unsettled)));
        let (_, end) = measured(&plan, 2, CellOutcome { refused: true, settled: false, ..FINE });
        assert_eq!(end, Some(SweepEnd::Refused));
        let (rates, end) = measured(&plan, 1, CellOutcome { utilisation: Some(99.4), ..FINE });
        assert_eq!(rates.len(), 2);
        assert_eq!(end, Some(SweepEnd::Ceiling(99.4)));
    }

    #[test]
    fn a_list_is_measured_from_the_lowest_on_and_each_rate_once() {
        let (rates, end) = measured(&RatePlan::List(vec![30.0, 10.0, 20.0, 10.0]), 99, FINE);
        assert_eq!((rates, end), (vec![10.0, 20.0, 30.0], Some(SweepEnd::AllMeasured)));
        let (rates, _) = measured(&RatePlan::Auto(5), 99, FINE);
        assert_eq!(rates.len(), 5);
    }

    #[test]
    fn rates_around_the_saturation_go_beyond_a_full_cpu() {
        let full = CellOutcome { utilisation: Some(99.9), ..FINE };
        let end_at = |outcome: &CellOutcome| {
            let mut sweep = RatePlan::Auto(5).sweep(Some(100.0)).unwrap();
            sweep.observe(outcome);
            sweep.end()
        };
        assert_eq!(end_at(&full), None);
        assert_eq!(end_at(&CellOutcome { settled: false, ..full }), Some(SweepEnd::Unsettled));
    }

    #[test]
    fn a_plan_without_fit_rates_is_refused() {
        let sweep = |plan: RatePlan| plan.sweep(None).err();
        assert_eq!(sweep(RatePlan::List(vec![])), Some(RatePlanError::Empty));
        assert_eq!(sweep(RatePlan::List(vec![1.0, 0.0])), Some(RateError(0.0).into()));
        assert_eq!(sweep(RatePlan::Steps { from: 10.0, step: -1.0 }), Some(RateError(-1.0).into()));
        assert_eq!(sweep(RatePlan::Auto(8)), Some(RatePlanError::NoSaturation));
    }
}
