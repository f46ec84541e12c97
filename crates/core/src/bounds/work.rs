//! Work per request, and where a resource ends by the utilisation law.

use super::Range;
use crate::statistics::{Sample, student_quantile};

/// Runs below which there is no interval.
const RUNS_MIN: usize = 3;

/// What one request takes of a resource (CPU seconds, bytes, disk reads).
///
/// The utilisation law (Denning and Buzen, ACM Computing Surveys 10 (1978) 225) has `u = x d`, with `x` completions per
/// second and `d` the demand of one request. A server does a little for itself too, so `u_i = a + d x_i` is fitted over
/// all runs `i` at all rates, with residuals in proportion to `x_i` (a slow neighbour makes each request dearer, by a
/// share), that is by least squares with weights `1 / x_i^2`. `a` is held at zero or above.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Demand of one request.
    pub per_request: f64,
    /// Its 95 % interval, by Student's t with `n - 2` degrees of freedom; `None` of fewer than three runs.
    pub range: Option<Range>,
    /// What is used per second without requests.
    pub idle: f64,
    /// Runs behind it.
    pub runs: usize,
}

impl Work {
    /// From completions per second and use per second of each run; `None` where no run has any.
    pub fn of(points: &[(f64, f64)]) -> Option<Self> {
        let points: Vec<(f64, f64)> =
            points.iter().copied().filter(|(x, u)| *x > 0.0 && u.is_finite() && *u >= 0.0).collect();
        let runs = points.len();
        // Divided by x, the weighted fit is a plain one: u / x = d + a (1 / x).
        let ratios: Vec<(f64, f64)> = points.iter().map(|(x, u)| (1.0 / x, u / x)).collect();
        let mean_z = ratios.iter().map(|(z, _)| *z).collect::<Sample>().mean()?;
        let mean_y = ratios.iter().map(|(_, y)| *y).collect::<Sample>().mean()?;
        let zz: f64 = ratios.iter().map(|(z, _)| (z - mean_z).powi(2)).sum();
        let zy: f64 = ratios.iter().map(|(z, y)| (z - mean_z) * (y - mean_y)).sum();
        // Rates that are all alike tell nothing about the rest.
        let fitted = zz > 1e-6 * mean_z * mean_z && runs >= RUNS_MIN;
        let idle = if fitted { (zy / zz).max(0.0) } else { 0.0 };
        let per_request = mean_y - idle * mean_z;
        let squares: f64 = ratios.iter().map(|(z, y)| (y - per_request - idle * z).powi(2)).sum();
        let lever = if idle > 0.0 { mean_z * mean_z / zz } else { 0.0 };
        let range = (runs >= RUNS_MIN).then(|| {
            let degrees = runs as f64 - if idle > 0.0 { 2.0 } else { 1.0 };
            let error = (squares / degrees * (1.0 / runs as f64 + lever)).sqrt();
            let half = student_quantile(0.975, degrees) * error;
            Range { low: (per_request - half).max(0.0), high: per_request + half }
        });
        (per_request > 0.0).then_some(Self { per_request, range, idle, runs })
    }

    /// The rates per second at which `capacity` of the resource per second is used up; `None` without an interval.
    pub fn ends_at(&self, capacity: f64) -> Option<Range> {
        let range = self.range?;
        let left = (capacity - self.idle).max(0.0);
        (range.low > 0.0).then(|| Range { low: left / range.high, high: left / range.low })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Random, Seed};

    #[test]
    fn the_work_of_a_request_is_found_beside_what_the_server_does_for_itself() {
        let points: Vec<(f64, f64)> =
            [50.0, 100.0, 200.0, 300.0].iter().map(|x| (*x, 0.05 + 0.003 * x)).collect();
        let work = Work::of(&points).unwrap();
        assert!((work.per_request - 0.003).abs() < 1e-12 && (work.idle - 0.05).abs() < 1e-9, "{work:?}");
        let end = work.ends_at(1.0).unwrap();
        assert!((end.low - 0.95 / 0.003).abs() < 1e-6 && (end.high - end.low).abs() < 1e-6, "{end:?}");
    }

    #[test]
    fn one_rate_gives_the_ratio_and_no_idle_part() {
        let work = Work::of(&[(100.0, 0.31), (100.0, 0.29), (100.0, 0.30)]).unwrap();
        assert!((work.per_request - 0.003).abs() < 1e-12 && work.idle == 0.0);
        assert!(work.range.is_some_and(|range| range.low > 0.002 && range.high < 0.004));
    }

    #[test]
    fn nothing_done_or_nothing_seen_has_no_work() {
        assert_eq!(Work::of(&[]), None);
        assert_eq!(Work::of(&[(0.0, 0.2)]), None);
        assert_eq!(Work::of(&[(10.0, 0.0), (20.0, 0.0)]), None);
        assert_eq!(Work::of(&[(10.0, 0.1), (20.0, 0.2)]).unwrap().range, None);
    }

    #[test]
    fn the_interval_holds_the_true_work_as_often_as_it_says() {
        let mut random = Random::new(Seed(5));
        let held = (0..2_000).filter(|_| {
            let points: Vec<(f64, f64)> = [60.0, 60.0, 120.0, 120.0, 180.0, 180.0, 240.0, 240.0]
                .iter()
                .map(|x| (*x, 0.03 + 0.003 * x * (1.0 + 0.04 * random.normal())))
                .collect();
            let range = Work::of(&points).unwrap().range.unwrap();
            range.low <= 0.003 && 0.003 <= range.high
        });
        let held = held.count();
        assert!((1_860..=1_960).contains(&held), "{held} of 2,000");
    }
}
