//! How many servers a load needs.

use super::error::SizeError;
use super::sizing::{Prediction, Sizing};
use crate::statistics::{CONFIDENCE, student_quantile};

/// More servers than these are never told.
const SERVERS_MAX: f64 = 1e6;
/// Share of the servers that is tried next where so many do not do.
const FEWER: f64 = 0.9;
/// Utilisation above which a server is taken to be full.
const FULL: f64 = 1.0;

/// What a response has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// The mean response time.
    Tau,
    /// The 95th percentile.
    P95,
}

/// All that is known of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Its mean response.
    pub tau: Sizing,
    /// Its 95th percentile; the reason where it has none.
    pub p95: Result<Sizing, SizeError>,
    /// Rate and utilisation from 0 to 1 at each trusted rate; empty where it cannot be seen.
    pub busy: Vec<(f64, f64)>,
}

/// What a server does at a rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Requests per second.
    pub rate: f64,
    /// Its mean response with the interval.
    pub tau: Prediction,
    /// 95th percentile; `None` where the profile knows too few.
    pub p95: Option<Prediction>,
    /// Utilisation from 0 to 1 with the ends of its interval; `None` where it cannot be seen.
    pub busy: Option<(f64, f64, f64)>,
}

/// How many servers, and what each of them does.
#[derive(Clone, Debug, PartialEq)]
pub struct Needed {
    /// Servers that share the load equally.
    pub servers: u64,
    /// What each does.
    pub each: Answer,
    /// Whether they are so many because of the trust limit rather than the objective.
    pub by_trust: bool,
}

impl Server {
    /// What one server does at a rate.
    ///
    /// # Errors
    /// The rate lies beyond the trust limit and that was not asked for, or the server does not carry it.
    pub fn at(&self, rate: f64, beyond_trust: bool) -> Result<Answer, SizeError> {
        let tau = self.tau.predict(rate, beyond_trust)?;
        let busy = self.busy_at(rate);
        if let Some((busy, ..)) = busy.filter(|(busy, ..)| *busy >= FULL) {
            return Err(SizeError::Saturates { rate, capacity: rate / busy });
        }
        let p95 = self.p95.as_ref().ok().and_then(|p95| p95.predict(rate, beyond_trust).ok());
        Ok(Answer { rate, tau, p95, busy })
    }

    /// The fewest servers that share a load so that the upper end of what each may take is within the objective, in seconds; without one, so that
    /// each stays within the trust limit. Shares of Poisson arrivals are Poisson arrivals.
    ///
    /// # Errors
    /// No number does.
    pub fn needed(
        &self,
        rate: f64,
        objective: Option<(Objective, f64)>,
        beyond_trust: bool,
    ) -> Result<Needed, SizeError> {
        if !(rate > 0.0 && rate.is_finite()) {
            return Err(SizeError::NotARate(rate));
        }
        let limit = self.tau.basis().limit;
        let trusted = (rate / limit / 1.000_1).ceil().max(1.0);
        let lowest = self.tau.points().first().map_or(limit, |point| point.rate);
        if trusted > SERVERS_MAX {
            return Err(SizeError::NotARate(rate));
        }
        let most = (rate / lowest).ceil().max(trusted).min(SERVERS_MAX);
        let fits = |servers: f64| -> Result<Option<Answer>, SizeError> {
            let told = match self.at(rate / servers, beyond_trust) {
                Err(SizeError::Saturates { .. } | SizeError::LeavesOpen { .. }) => return Ok(None),
                told => told?,
            };
            let Some((objective, wanted)) = objective else { return Ok(Some(told)) };
            match self.high(&told, objective) {
                Err(SizeError::LeavesOpen { .. }) => Ok(None),
                high => Ok((high? <= wanted).then_some(told)),
            }
        };
        // With more servers each has less to do and answers no later, so that the fewest can be found by halving. Intervals are wider at the ends
        // of what was measured, so that one in the middle may do where the most do not.
        let (mut short, mut enough) = (if beyond_trust { 0.0 } else { trusted - 1.0 }, most);
        let mut found = fits(enough)?;
        while found.is_none() && enough > trusted {
            enough = (enough * FEWER).floor().max(trusted);
            found = fits(enough)?;
        }
        let Some(mut each) = found else {
            // Where the least that was measured is not reached, more servers than can be told of may do.
            let is_told = most < SERVERS_MAX || rate / most <= lowest;
            return Err(if is_told {
                self.out_of_reach(rate / most, objective)
            } else {
                SizeError::NotARate(rate)
            });
        };
        while enough - short > 1.0 {
            let middle = ((short + enough) / 2.0).floor();
            match fits(middle)? {
                Some(told) => (enough, each) = (middle, told),
                None => short = middle,
            }
        }
        let by_trust = !beyond_trust && enough == trusted && enough > 1.0;
        Ok(Needed { servers: enough as u64, each, by_trust })
    }

    fn high(&self, told: &Answer, objective: Objective) -> Result<f64, SizeError> {
        match (objective, &told.p95, &self.p95) {
            (Objective::Tau, ..) => Ok(told.tau.high),
            (Objective::P95, Some(p95), _) => Ok(p95.high),
            (Objective::P95, None, Err(error)) => Err(*error),
            (Objective::P95, None, Ok(_)) => Err(SizeError::LeavesOpen { rate: told.rate }),
        }
    }

    fn out_of_reach(&self, rate: f64, objective: Option<(Objective, f64)>) -> SizeError {
        let told = match self.at(rate, true) {
            Ok(told) => told,
            Err(error) => return error,
        };
        match objective {
            Some((objective, wanted)) => match self.high(&told, objective) {
                Ok(least) => {
                    let lowest = self.tau.points().first().map_or(rate, |point| point.rate);
                    SizeError::OutOfReach { objective: wanted, least, rate: lowest }
                }
                Err(error) => error,
            },
            None => SizeError::Saturates { rate, capacity: self.tau.basis().limit },
        }
    }

    /// Utilisation by the utilisation law with what is used without requests, `a + b rate`, by least squares (Denning and Buzen, ACM Computing
    /// Surveys 10 (1978) 225), and its 95 % prediction interval.
    fn busy_at(&self, rate: f64) -> Option<(f64, f64, f64)> {
        let n = self.busy.len() as f64;
        if self.busy.len() < 3 {
            return None;
        }
        let mean = |of: fn(&(f64, f64)) -> f64| self.busy.iter().map(of).sum::<f64>() / n;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let spread: f64 = self.busy.iter().map(|point| (point.0 - x).powi(2)).sum();
        let slope = self.busy.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>() / spread;
        let at = |rate: f64| y + slope * (rate - x);
        let squares: f64 = self.busy.iter().map(|point| (point.1 - at(point.0)).powi(2)).sum();
        let deviation = (squares / (n - 2.0) * (1.0 + 1.0 / n + (rate - x).powi(2) / spread)).sqrt();
        let half = student_quantile(f64::midpoint(1.0, CONFIDENCE), n - 2.0) * deviation;
        let found = at(rate).max(0.0);
        (spread > 0.0 && found.is_finite()).then(|| (found, (found - half).max(0.0), found + half))
    }
}
