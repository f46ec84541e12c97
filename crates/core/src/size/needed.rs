use super::error::SizeError;
use super::model::Figure;
use super::sizing::{Prediction, Sizing};
use crate::caveat::threshold::RUNS_MIN;
use crate::statistics::{CONFIDENCE, Sample, student_quantile};

/// Largest number of servers in an answer.
const SERVERS_MAX: f64 = 1e6;
/// Share of the servers that is tried next where these do not meet the objective.
const FEWER: f64 = 0.9;
/// Rates up to so many times one another have requests of about the same CPU time: a server with little to do is woken more often.
const NEAR: f64 = 2.0;
/// CPU use below which the highest rate says little of the limit.
const HALF: f64 = 0.5;

#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    pub mean: Sizing,
    pub p95: Sizing,
    /// Completions per second and utilisation from 0 to 1 of each run; empty where it cannot be seen.
    pub busy: Vec<(f64, f64)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub rate: f64,
    pub mean: Prediction,
    pub p95: Prediction,
    /// Utilisation from 0 to 1 with the ends of its interval; `None` where it cannot be seen.
    pub busy: Option<(f64, f64, f64)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Needed {
    /// Servers that share the load equally.
    pub servers: u64,
    pub each: Answer,
    /// Whether they are so many because no higher rate was measured, rather than for an objective.
    pub by_range: bool,
}

impl Answer {
    pub fn of(&self, figure: Figure) -> &Prediction {
        match figure {
            Figure::Mean => &self.mean,
            Figure::P95 => &self.p95,
        }
    }
}

impl Server {
    pub fn at(&self, rate: f64) -> Result<Answer, SizeError> {
        let mean = self.mean.predict(rate)?;
        let p95 = self.p95.predict(rate)?;
        Ok(Answer { rate, mean, p95, busy: self.busy_at(rate) })
    }

    /// The fewest servers that share a load so that the upper end of what each may take is within the objective, in seconds; without one, so
    /// that each stays within the rates that were measured. Shares of Poisson arrivals are Poisson arrivals.
    pub fn needed(&self, rate: f64, objective: Option<(Figure, f64)>) -> Result<Needed, SizeError> {
        let least = if objective.is_some() { self.mean.range().0 } else { self.certain() };
        let most = (rate / least / 1.000_1).ceil().max(1.0);
        if !(rate > 0.0 && most <= SERVERS_MAX) {
            return Err(SizeError::NotARate(rate));
        }
        let Some((figure, wanted)) = objective else {
            let each = self.at(rate / most)?;
            return Ok(Needed { servers: most as u64, each, by_range: most > 1.0 });
        };
        let enough = self.fewest(rate, most, |each| each.of(figure).high <= wanted);
        let servers = enough.ok_or_else(|| self.out_of_reach(rate / most, figure, wanted))?;
        Ok(Needed { servers: servers as u64, each: self.at(rate / servers)?, by_range: false })
    }

    /// The fewest servers, up to these, of which each does this. With more servers each has less to do and answers no later. Intervals are
    /// wider at the ends of what was measured, so that a number in the middle may do where the most do not.
    fn fewest(&self, rate: f64, most: f64, does: impl Fn(&Answer) -> bool) -> Option<f64> {
        let fits = |servers: f64| self.at(rate / servers).is_ok_and(|each| does(&each));
        let (mut short, mut enough) = (0.0, most);
        while !fits(enough) && enough > 1.0 {
            enough = (enough * FEWER).floor().max(1.0);
        }
        fits(enough).then_some(())?;
        while enough - short > 1.0 {
            let middle = f64::midpoint(short, enough).floor();
            if fits(middle) { enough = middle } else { short = middle }
        }
        Some(enough)
    }

    /// Whether the profile says what a server does at this rate: far beyond the highest it does not, where no rate was refused and that one
    /// left half of the CPUs idle, or nobody saw them.
    pub fn knows(&self, rate: f64) -> Result<(), SizeError> {
        let highest = self.mean.range().1;
        let used = self.busy_at(highest).map(|(used, ..)| used);
        let has_end = self.mean.ends().at_most.is_some() || used.is_some_and(|used| used >= HALF);
        let is_known = has_end || rate <= NEAR * highest;
        is_known.then_some(()).ok_or(SizeError::NoEnd { rate: highest, used })
    }

    /// What a server carries for certain, or the highest rate that settled where that is not known.
    pub fn certain(&self) -> f64 {
        let (lowest, highest) = self.mean.range();
        self.mean.ends().at_least.map_or(highest, |least| least.max(lowest))
    }

    /// The fewest servers of which each more likely than not meets the objective; `None` where none do at the rates that were measured.
    pub fn likely(&self, rate: f64, (figure, wanted): (Figure, f64)) -> Option<u64> {
        let most = (rate / self.mean.range().0).ceil().clamp(1.0, SERVERS_MAX);
        Some(self.fewest(rate, most, |each| each.of(figure).response <= wanted)? as u64)
    }

    fn out_of_reach(&self, rate: f64, figure: Figure, objective: f64) -> SizeError {
        let least = self.at(rate).map(|least| least.of(figure).high);
        match least {
            Ok(least) => SizeError::OutOfReach { objective, least, rate: self.mean.range().0 },
            Err(error) => error,
        }
    }

    /// Utilisation by the utilisation law, the rate times the CPU time of a request (Denning and Buzen, ACM Computing Surveys 10 (1978) 225),
    /// and its 95 % prediction interval, by what that time differs by between the runs at rates near this one, or between all where these are few.
    fn busy_at(&self, rate: f64) -> Option<(f64, f64, f64)> {
        let costs = |times: f64| -> Sample {
            let near = self.busy.iter().filter(|(at, _)| rate <= times * at && *at <= times * rate);
            near.map(|(at, used)| used / at).collect()
        };
        let near = costs(NEAR);
        let costs = if near.n() < RUNS_MIN { costs(f64::INFINITY) } else { near };
        let (cost, variance, n) = (costs.mean()?, costs.variance()?, costs.n() as f64);
        let deviation = (variance * (1.0 + 1.0 / n)).sqrt();
        let half = student_quantile(f64::midpoint(1.0, CONFIDENCE), n - 1.0) * deviation;
        (costs.n() >= RUNS_MIN).then(|| (rate * cost, rate * (cost - half).max(0.0), rate * (cost + half)))
    }
}
