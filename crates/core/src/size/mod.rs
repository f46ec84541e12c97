//! What a server answers at a rate that was not measured, and how many servers an objective needs.
//!
//! One model, for the mean response and for p95: `R(l) = R0 (1 + k w(l))`, where `w` is the wait for one of `c` CPUs in service times, by
//! M/M/c (Erlang, 1917; Kleinrock, Queueing Systems, vol. 1, 1975, section 3.5), and ends at the capacity. The factor `k` covers uneven
//! arrivals and work, which make an M/G/c queue wait about `(Ca^2 + Cs^2) / 2` times as long (Allen, Probability, Statistics and Queueing
//! Theory, 2nd ed., 1990, section 5.3), and delays that no load changes.
//!
//! The capacity is known from the bounds of the profile and from the CPU time of a request, the rest from the runs. Bayes' rule joins them:
//! the posterior is sampled by a random walk (Metropolis et al., J. Chem. Phys. 21 (1953) 1087), so that one rate is enough for an interval
//! and each further rate narrows it. What the model errs by is smooth along the rates (`fit`). Intervals are predictive: they hold what one
//! run of a minute gives, with what runs differ by.

mod model;
mod sizing;

use crate::caveat::threshold::RUNS_MIN;
use crate::statistics::{CONFIDENCE, Sample, halved_to, student_quantile};
pub use model::{Ends, Measured, Statistic};
pub use sizing::{LeftOut, Prediction, SizeError, Sizing};

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
    /// Whether they are so many because no higher rate is sure to be carried, rather than for an objective.
    pub by_range: bool,
}

impl Answer {
    pub fn of(&self, figure: Statistic) -> &Prediction {
        match figure {
            Statistic::Mean => &self.mean,
            Statistic::P95 => &self.p95,
        }
    }
}

/// To how much of itself the highest rate that meets an objective is found.
const RATE_ACCURACY: f64 = 1e-3;

/// From which error on, as a part of what was measured, a prediction is a guess.
pub const ERROR_MUCH: f64 = 1.0;

impl Server {
    /// The rate that the others predict wrongly by more than [`ERROR_MUCH`], with the figure that is off.
    pub fn misfit(&self) -> Option<(Statistic, Measured)> {
        let of = |figure: Statistic, sizing: &Sizing| Some((figure, sizing.worst(ERROR_MUCH)?.measured));
        of(Statistic::P95, &self.p95).or_else(|| of(Statistic::Mean, &self.mean))
    }

    pub fn at(&self, rate: f64) -> Result<Answer, SizeError> {
        let mean = self.mean.predict(rate)?;
        let p95 = self.p95.predict(rate)?.not_below(&mean);
        Ok(Answer { rate, mean, p95, busy: self.busy_at(rate) })
    }

    /// The fewest servers that share a load so that the upper end of what each may take is within the objective, in seconds; without one, so
    /// that each stays within the rates that were measured. Shares of Poisson arrivals are Poisson arrivals.
    pub fn needed(&self, rate: f64, objective: Option<(Statistic, f64)>) -> Result<Needed, SizeError> {
        let least = if objective.is_some() { self.mean.range().0 } else { self.certain() };
        let most = (rate / least / 1.000_1).ceil().max(1.0);
        if !(rate > 0.0 && most <= SERVERS_MAX) {
            return Err(SizeError::NotARate(rate));
        }
        let Some((figure, wanted)) = objective else {
            let each = self.at(rate / most)?;
            return Ok(Needed { servers: most as u64, each, by_range: most > 1.0 });
        };
        let does = |each: &Answer| each.of(figure).high <= wanted && self.knows(each.rate).is_ok();
        let enough = self.fewest(rate, most, does);
        let wanted = enough.ok_or_else(|| self.out_of_reach(rate / most, figure, wanted))?;
        let servers = wanted.max((rate / self.most() / 1.000_1).ceil());
        Ok(Needed { servers: servers as u64, each: self.at(rate / servers)?, by_range: servers > wanted })
    }

    /// What each server gets at most, where the profile saw an end: no objective is worth a rate that may not be carried.
    pub fn most(&self) -> f64 {
        let carried = self.certain().max(self.mean.range().1);
        if self.mean.ends().at_most.is_some() { carried } else { f64::INFINITY }
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

    /// The highest rate of one server that meets the objective, from the top of what the profile says anything of; `None` where not even
    /// the lowest measured rate does for certain.
    pub fn highest(&self, (figure, wanted): (Statistic, f64)) -> Option<f64> {
        let lowest = self.mean.range().0;
        let fits = |rate: f64| self.at(rate).is_ok_and(|each| each.of(figure).high <= wanted);
        let (mut fitting, mut beyond) = (self.most().min(NEAR * self.mean.range().1), f64::INFINITY);
        while !fits(fitting) {
            (fitting > lowest).then_some(())?;
            (fitting, beyond) = ((FEWER * fitting).max(lowest), fitting);
        }
        if beyond.is_infinite() {
            return Some(fitting);
        }
        // The middle of the last step may be beyond by half of it.
        let within = RATE_ACCURACY * fitting;
        Some(halved_to(within, fitting, beyond, fits) - within / 2.0)
    }

    fn out_of_reach(&self, rate: f64, figure: Statistic, objective: f64) -> SizeError {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Random, Seed};

    const ENDS: Ends =
        Ends { cpus: 1.0, at_least: Some(200.0), at_most: Some(300.0), full_at: Some(250.0), drift: 0.0 };
    const RATES: [f64; 4] = [50.0, 100.0, 150.0, 200.0];

    /// M/M/1 of 4 ms: `s / (1 - u)`, three runs of 8 s at each rate.
    fn mm1(rates: &[f64], factor: f64) -> Vec<Measured> {
        let mut random = Random::new(Seed(7));
        let run = |rate: f64, random: &mut Random| {
            factor * 0.004 / (1.0 - rate * 0.004) * (0.03 * random.normal()).exp()
        };
        let point = |rate: &f64| Measured {
            rate: *rate,
            seconds: 8.0,
            responses: (0..3).map(|_| run(*rate, &mut random)).collect(),
        };
        rates.iter().map(point).collect()
    }

    fn sizing(rates: &[f64], ends: Ends) -> Sizing {
        Sizing::of(&mm1(rates, 1.0), ends, Statistic::Mean).unwrap()
    }

    fn server() -> Server {
        Server {
            mean: sizing(&RATES, ENDS),
            p95: Sizing::of(&mm1(&RATES, 3.0), ENDS, Statistic::P95).unwrap(),
            busy: RATES.iter().map(|rate| (*rate, 0.004 * rate)).collect(),
        }
    }

    #[test]
    fn an_interval_holds_the_truth_and_is_narrow_between_the_rates_and_wide_without_them() {
        let truth = |rate: f64| 0.004 / (1.0 - rate * 0.004);
        let four = sizing(&RATES, ENDS);
        let one = sizing(&RATES[..1], ENDS).predict(175.0).unwrap();
        for rate in [75.0, 125.0, 175.0] {
            let found = four.predict(rate).unwrap();
            assert!(found.low < truth(rate) && truth(rate) < found.high, "{found:?}");
            assert!(found.high / found.low < 0.7 * one.high / one.low, "{found:?}");
        }
        assert!(one.low < truth(175.0) && truth(175.0) < one.high && one.is_wide(), "{one:?}");
        assert_eq!(four.predict(20.0).unwrap().response, four.predict(50.0).unwrap().response);
    }

    #[test]
    fn an_upper_end_is_open_where_the_rate_may_not_be_carried_and_beyond_the_bound_there_is_no_answer() {
        let found = sizing(&RATES, Ends { full_at: None, ..ENDS });
        let near = found.predict(245.0).unwrap();
        assert!(near.high == f64::INFINITY && near.low >= found.predict(200.0).unwrap().low, "{near:?}");
        assert_eq!(found.predict(301.0), Err(SizeError::Saturates { rate: 301.0, at_most: Some(300.0) }));
        let by_cpu = sizing(&RATES, Ends { at_most: None, ..ENDS });
        assert_eq!(by_cpu.predict(600.0), Err(SizeError::Saturates { rate: 600.0, at_most: None }));
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(found.predict(rate), Err(SizeError::NotARate(_))), "{rate}");
        }
    }

    #[test]
    fn each_rate_is_predicted_from_the_others() {
        let left = sizing(&RATES, ENDS).left_out().to_vec();
        assert_eq!(left.len(), 4);
        assert!(left[1..3].iter().all(|one| one.error().unwrap().abs() < 0.15), "{left:?}");
        let point = &mm1(&RATES, 1.0)[..1];
        assert!(Sizing::of(point, ENDS, Statistic::Mean).unwrap().left_out().is_empty());
    }

    #[test]
    fn a_profile_without_a_response_has_no_model() {
        let broken = Measured { responses: vec![f64::NAN], ..mm1(&[60.0], 1.0)[0].clone() };
        for points in [&[][..], &[broken]] {
            assert_eq!(Sizing::of(points, ENDS, Statistic::Mean), Err(SizeError::NothingSettled));
        }
    }

    #[test]
    fn a_server_whose_speed_was_seen_to_change_has_wider_intervals() {
        let steady = sizing(&RATES, ENDS).predict(120.0).unwrap();
        let unsteady = sizing(&RATES, Ends { drift: 0.2, ..ENDS }).predict(120.0).unwrap();
        assert!(unsteady.low < steady.low && unsteady.high > steady.high, "{steady:?} {unsteady:?}");
    }

    #[test]
    fn far_above_the_highest_rate_nothing_is_known_where_none_was_refused_and_the_cpus_were_idle() {
        let mean = sizing(&RATES, Ends { at_most: None, ..ENDS });
        let idle = Server { mean, busy: vec![(200.0, 0.07); 3], ..server() };
        assert!(idle.knows(400.0).is_ok() && server().knows(9_000.0).is_ok());
        let error = idle.knows(9_000.0).unwrap_err().to_string();
        assert!(error.contains("at 200.0/s, its highest stable rate, CPU use was 7 %"), "{error}");
    }

    #[test]
    fn as_many_servers_as_keep_the_upper_end_within_the_objective() {
        let server = server();
        let needed = server.needed(400.0, Some((Statistic::P95, 0.03))).unwrap();
        assert!((3..=4).contains(&needed.servers) && needed.each.p95.high <= 0.03, "{needed:?}");
        let fewer = server.at(400.0 / (needed.servers as f64 - 1.0));
        assert!(fewer.is_err() || fewer.unwrap().p95.high > 0.03);
        let within = server.needed(900.0, None).unwrap();
        assert!(within.by_range && within.servers == 5, "{within:?}");
        let error = server.needed(400.0, Some((Statistic::Mean, 0.001))).unwrap_err();
        assert!(matches!(error, SizeError::OutOfReach { rate: 50.0, .. }), "{error}");
        for rate in [1e9, f64::NAN, 0.0] {
            assert!(matches!(server.needed(rate, None), Err(SizeError::NotARate(_))), "{rate}");
        }
        let (busy, low, high) = needed.each.busy.unwrap();
        assert!(low <= busy && busy <= high && (busy - 0.004 * needed.each.rate).abs() < 1e-6);
    }
}
