//! Which model errs least, and what it tells with an interval.

use super::basis::{Basis, Measured};
use super::chosen::chosen;
use super::curve::{Curve, Kind};
use super::error::SizeError;
use super::fit::{fit, taken};
use super::regression::degree;
use crate::random::{Random, Seed};
use crate::statistics::{CONFIDENCE, student_quantile};

/// Fewest trusted rates of a model: three and one that is left out.
pub const RATES_MIN: usize = 4;
/// Times that a model is fitted to what might as well have been measured.
const DRAWS: u64 = 80;
/// The same profile always tells the same.
const SEED: Seed = Seed(0x51_2e);
/// A response whose interval ends at more than so many times its lower end is left open.
const WIDE_MOST: f64 = 100.0;
/// Most that a logarithm is believed to be off: a model that leaves the response open by more than this tells nothing.
const OFF_MOST: f64 = 20.0;

/// A response that was told, with its 95 % prediction interval: where a further measurement at that rate would lie, which is the mean
/// of as many runs as those that there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Arrivals per second.
    pub rate: f64,
    /// Response in seconds.
    pub response: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
    /// The model that tells it.
    pub kind: Kind,
}

impl Prediction {
    /// Whether the interval is narrow enough to say something.
    pub(super) fn says(&self) -> bool {
        self.high <= WIDE_MOST * self.low
    }
}

/// A rate that was left out, and what the others make of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeftOut {
    /// What was measured there.
    pub measured: Measured,
    /// What was told; `None` where the model could not.
    pub told: Option<Prediction>,
}

impl LeftOut {
    /// By how much it was off, as a part of what was measured.
    pub fn error(&self) -> Option<f64> {
        Some(self.told?.response / self.measured.response - 1.0)
    }

    /// Whether the interval holds what was measured.
    pub fn is_held(&self) -> bool {
        self.told.is_some_and(|told| (told.low..=told.high).contains(&self.measured.response))
    }
}

/// A model with what came of it where a rate was left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Rival {
    /// Which of the models it is.
    pub kind: Kind,
    /// One rate after the other.
    pub left_out: Vec<LeftOut>,
    /// Of the polynomial.
    degree: usize,
    curve: Curve,
}

impl Rival {
    /// Root of the mean squared error of the logarithm over the rates that were left out; infinite where one could not be told.
    pub fn error(&self) -> f64 {
        error_of(&self.left_out)
    }

    /// How many of the rates that were left out it could not tell.
    pub fn untold(&self) -> usize {
        self.left_out.iter().filter(|left| left.told.is_none()).count()
    }
}

fn error_of(left_out: &[LeftOut]) -> f64 {
    let squares =
        left_out.iter().map(|left| left.error().map_or(f64::INFINITY, |off| (1.0 + off).ln().powi(2)));
    (squares.sum::<f64>() / left_out.len() as f64).sqrt()
}

/// All models of one response, fitted to the trusted rates.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizing {
    points: Vec<Measured>,
    basis: Basis,
    /// The models that could be fitted, the one that errs least first.
    pub rivals: Vec<Rival>,
    /// Each rate as the model tells it that the others alone would have chosen: what choosing one flatters is not in it.
    pub chosen: Vec<LeftOut>,
}

impl Sizing {
    /// Fits every model to the points up to the trust limit.
    ///
    /// # Errors
    /// Nothing is trusted, or too few rates are.
    pub fn of(points: &[Measured], basis: Basis) -> Result<Self, SizeError> {
        if !(basis.limit > 0.0 && basis.limit.is_finite()) {
            return Err(SizeError::NothingTrusted);
        }
        let is_within = |point: &&Measured| point.is_something() && point.rate <= basis.limit * 1.000_1;
        let mut points: Vec<Measured> = points.iter().filter(is_within).copied().collect();
        points.sort_by(|one, other| one.rate.total_cmp(&other.rate));
        let rates = 1 + points.windows(2).filter(|pair| pair[0].rate < pair[1].rate).count();
        if points.is_empty() || rates < RATES_MIN {
            return Err(SizeError::TooFewRates { have: rates.min(points.len()), needed: RATES_MIN });
        }
        if points.iter().all(|point| point.full_at.is_none()) {
            points.iter_mut().for_each(|point| point.full_at = basis.full_at);
        }
        let (basis, degree) = (basis.by(&points), degree(points.len()));
        let mut rivals: Vec<Rival> =
            Kind::ALL.iter().filter_map(|kind| rival(*kind, &points, &basis, degree)).collect();
        rivals.sort_by(|one, other| one.error().total_cmp(&other.error()));
        if rivals.first().is_none_or(|best| !best.error().is_finite()) {
            return Err(SizeError::TooFewRates { have: rates, needed: RATES_MIN.max(rates + 1) });
        }
        let chosen = chosen(&rivals, &points, &basis, degree);
        Ok(Self { points, basis, rivals, chosen })
    }

    /// The model that errs least.
    pub fn better(&self) -> &Rival {
        &self.rivals[0]
    }

    /// Root of the mean squared error of the logarithm over all rates, each told by the model that the others alone would have chosen; infinite
    /// where one could not be told.
    pub fn error(&self) -> f64 {
        error_of(&self.chosen)
    }

    /// What was measured, as far as it is trusted, by rising rate.
    pub fn points(&self) -> &[Measured] {
        &self.points
    }

    /// What is known of the server besides.
    pub fn basis(&self) -> &Basis {
        &self.basis
    }

    /// The response at a rate of one server. At less than the lowest rate that was measured, it is taken to be that of the lowest.
    ///
    /// # Errors
    /// The rate lies beyond the trust limit and that was not asked for, or the server does not carry it.
    pub fn predict(&self, rate: f64, beyond_trust: bool) -> Result<Prediction, SizeError> {
        if !(rate > 0.0 && rate.is_finite()) {
            return Err(SizeError::NotARate(rate));
        }
        let is_beyond = rate > self.basis.limit * 1.000_1;
        if is_beyond && !beyond_trust {
            return Err(SizeError::BeyondTrust { rate, limit: self.basis.limit });
        }
        let lowest = self.points.first().map_or(rate, |point| point.rate);
        // Beyond trust the best is asked alone, of those that know an end; within, the next one too, where the best says nothing.
        let may = |rival: &&Rival| rival.error().is_finite() && (!is_beyond || rival.kind.has_an_end());
        let mut asked = self.rivals.iter().filter(may).take(if is_beyond { 1 } else { usize::MAX });
        let at = (rate.max(lowest), further(&self.points));
        let tells = |rival: &Rival| told(rival, &self.points, &self.basis, at);
        if let Some(found) = asked.clone().filter_map(tells).find(Prediction::says) {
            return Ok(found);
        }
        let first = asked.next().ok_or(SizeError::LeavesOpen { rate })?;
        Err(match tells(first) {
            None => SizeError::Saturates { rate, capacity: first.curve.end() },
            Some(_) => SizeError::LeavesOpen { rate },
        })
    }
}

/// What a further measurement errs by, which is what those that there are do.
fn further(points: &[Measured]) -> f64 {
    points.iter().map(Measured::error).sum::<f64>() / points.len() as f64
}

fn rival(kind: Kind, points: &[Measured], basis: &Basis, degree: usize) -> Option<Rival> {
    let curve = fit(kind, points, basis, degree)?;
    let left_out = (0..points.len()).map(|at| {
        let mut others = points.to_vec();
        let measured = others.remove(at);
        let basis = basis.by(&others);
        let told = fit(kind, &others, &basis, degree).and_then(|curve| {
            let rival = Rival { kind, degree, left_out: Vec::new(), curve };
            told(&rival, &others, &basis, (measured.rate, further(&others)))
        });
        LeftOut { measured, told }
    });
    Some(Rival { kind, degree, left_out: left_out.collect(), curve })
}

/// The response at a rate with the interval of a measurement there that errs by `error`; `None` where there is none.
///
/// On the logarithmic scale, three errors add up: that of the model's figures, found by fitting it again to points drawn about it
/// (the parametric bootstrap; Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 6); what the points lie farther
/// from the model than their own errors say; and that of the measurement itself.
fn told(rival: &Rival, points: &[Measured], basis: &Basis, (rate, error): (f64, f64)) -> Option<Prediction> {
    let Rival { kind, degree, curve, .. } = rival;
    let response = curve.at(rate);
    if !(response > 0.0 && response.is_finite()) {
        return None;
    }
    let free = points.len().saturating_sub(taken(*kind, basis, *degree)).max(1) as f64;
    let misfit = misfit(curve, points, free);
    let mut random = Random::new(SEED);
    let mut squares = 0.0;
    for _ in 0..DRAWS {
        let draw = |point: &Measured| {
            let deviation = (point.error().powi(2) + misfit).sqrt();
            Measured { response: curve.at(point.rate) * (deviation * random.normal()).exp(), ..*point }
        };
        let drawn: Vec<Measured> = points.iter().map(draw).collect();
        let off = fit(*kind, &drawn, basis, *degree)
            .map_or(f64::INFINITY, |other| (other.at(rate) / response).ln());
        squares += off.abs().min(OFF_MOST).powi(2);
    }
    let deviation = (squares / DRAWS as f64 + misfit + error * error).sqrt();
    let half = student_quantile(f64::midpoint(1.0, CONFIDENCE), free) * deviation;
    let (low, high) = (response * (-half).exp(), response * half.exp());
    Some(Prediction { rate, response, low, high, kind: *kind })
}

/// The variance of the logarithm by which points lie farther from the model than their own errors say.
fn misfit(curve: &Curve, points: &[Measured], free: f64) -> f64 {
    let off = |point: &Measured| (point.response / curve.at(point.rate)).ln().powi(2);
    let found = points.iter().map(off).sum::<f64>() / free;
    let own = points.iter().map(|point| point.error().powi(2)).sum::<f64>() / points.len() as f64;
    if found.is_finite() { (found - own).max(0.0) } else { OFF_MOST }
}
