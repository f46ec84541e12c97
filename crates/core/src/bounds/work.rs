use super::Range;
use crate::caveat::threshold::RUNS_MIN_COUNT as RUNS_MIN;
use crate::statistics::{Sample, student_quantile};

/// Share of the highest throughput from which runs speak about the work of a request. At lower rates what a server does for
/// itself counts as work of the few requests that there are, and each of them wakes it up by itself.
const BUSY_MIN: f64 = 0.5;

/// What one request takes of a resource (CPU seconds, bytes, disk reads).
///
/// The utilisation law (Denning and Buzen, ACM Computing Surveys 10 (1978) 225) has `u = x d`, with `x` completions per
/// second and `d` the demand of one request. `u_i = d x_i` is fitted over the runs `i` that complete at least half as much as the
/// busiest, with residuals in proportion to `x_i` (a slow neighbour makes each request dearer, by a share), that is by least
/// squares with weights `1 / x_i^2`: `d` is the mean of `u_i / x_i`. A part that does not grow with the requests is not fitted
/// beside it: work that falls as load rises, since a busy server is woken less, looks the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    pub per_request: f64,
    /// Its 95 % interval, by Student's t with `n - 1` degrees of freedom; `None` of fewer than three runs.
    pub range: Option<Range>,
    pub runs: usize,
    pub seen_at: Range,
}

impl Work {
    /// From completions per second and use per second of each run; `None` where no run has any.
    pub fn of(points: &[(f64, f64)]) -> Option<Self> {
        let seen = points.iter().copied().filter(|(x, u)| *x > 0.0 && u.is_finite() && *u >= 0.0);
        let busiest = seen.clone().map(|(x, _)| x).fold(0.0, f64::max);
        let busy = seen.filter(|(x, _)| *x >= BUSY_MIN * busiest);
        let lowest = busy.clone().map(|(x, _)| x).fold(busiest, f64::min);
        let seen_at = Range { low: lowest, high: busiest };
        let ratios: Sample = busy.map(|(x, u)| u / x).collect();
        let (per_request, runs) = (ratios.mean()?, ratios.n() as usize);
        let range = ratios.variance().filter(|_| runs >= RUNS_MIN).map(|variance| {
            let half = student_quantile(0.975, runs as f64 - 1.0) * (variance / runs as f64).sqrt();
            Range { low: (per_request - half).max(0.0), high: per_request + half }
        });
        (per_request > 0.0).then_some(Self { per_request, range, runs, seen_at })
    }

    /// The rates per second at which `capacity` of the resource per second is used up; `None` without an interval.
    pub fn ends_at(&self, capacity: f64) -> Option<Range> {
        let range = self.range?;
        (range.low > 0.0).then(|| Range { low: capacity / range.high, high: capacity / range.low })
    }
}

/// What the work of a request differs by between runs of one rate: `sqrt(sum_r s_r^2 (n_r - 1) / sum_r (n_r - 1))`, with `s_r` the standard
/// deviation of the logarithm of the work over the `n_r` runs of rate `r`; `None` where that has fewer than four degrees of freedom.
pub fn difference(rates: &[Vec<f64>]) -> Option<f64> {
    const FREEDOM_MIN: f64 = 4.0;
    let logs = rates.iter().map(|works| works.iter().map(|work| work.ln()).collect::<Sample>());
    let parts = logs.filter_map(|sample| Some((sample.variance()?, sample.n() as f64 - 1.0)));
    let (squares, freedom) = parts.fold((0.0, 0.0), |(sum, of), (s2, n)| (sum + s2 * n, of + n));
    (freedom >= FREEDOM_MIN).then(|| (squares / freedom).sqrt()).filter(|found| found.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Random, Seed};

    #[test]
    fn runs_at_little_load_do_not_make_requests_dearer() {
        let points: Vec<(f64, f64)> =
            [10.0, 150.0, 200.0, 300.0].iter().map(|x| (*x, 0.05 + 0.003 * x)).collect();
        let work = Work::of(&points).unwrap();
        assert!(work.runs == 3 && work.per_request < 0.003_4, "{work:?}");
        assert_eq!(work.seen_at, Range { low: 150.0, high: 300.0 });
        let end = work.ends_at(1.0).unwrap();
        assert!(end.low < 0.95 / 0.003 && 0.95 / 0.003 < end.high, "{end:?}");
    }

    #[test]
    fn requests_that_become_cheaper_under_load_keep_the_work_that_was_seen() {
        // Throughput per second and CPU milliseconds per request of a real server: no line through them says what any took.
        let seen =
            [(367.0, 0.85), (569.0, 0.72), (744.0, 0.76), (951.0, 0.81), (1_116.0, 0.67), (1_236.0, 0.76)];
        let work = Work::of(&seen.map(|(x, ms)| (x, ms * x))).unwrap();
        let range = work.range.unwrap();
        let inside = seen.iter().filter(|(_, ms)| range.low <= *ms && *ms <= range.high).count();
        assert!(inside >= 3 && range.low > 0.65 && range.high < 0.85, "{range:?}");
    }

    #[test]
    fn one_rate_gives_the_ratio() {
        let work = Work::of(&[(100.0, 0.31), (100.0, 0.29), (100.0, 0.30)]).unwrap();
        assert!((work.per_request - 0.003).abs() < 1e-12);
        assert!(work.range.is_some_and(|range| range.low > 0.002 && range.high < 0.004));
    }

    #[test]
    fn runs_of_one_rate_tell_what_requests_differ_by_and_other_rates_do_not() {
        let steady = difference(&[vec![1.0; 3], vec![2.0; 3]]).unwrap();
        assert!(steady < 1e-9, "{steady}");
        let found = difference(&[vec![1.0, 1.2, 1.0 / 1.2], vec![2.0, 2.4, 2.0 / 1.2]]).unwrap();
        assert!((found - 1.2_f64.ln()).abs() < 1e-9, "{found}");
        assert_eq!(difference(&[vec![1.0, 1.5], vec![2.0, 2.5]]), None, "four runs are too few");
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
            let points: Vec<(f64, f64)> = [120.0, 120.0, 180.0, 180.0, 240.0, 240.0]
                .iter()
                .map(|x| (*x, 0.003 * x * (1.0 + 0.04 * random.normal())))
                .collect();
            let range = Work::of(&points).unwrap().range.unwrap();
            range.low <= 0.003 && 0.003 <= range.high
        });
        let held = held.count();
        assert!((1_860..=1_940).contains(&held), "{held} of 2,000");
    }
}
