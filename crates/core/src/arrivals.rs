//! Arrival processes: the scheduled instants of an open load, and the pauses of a closed one.
//!
//! No process adds rounding error up: an instant is as exact after an hour as in the first second.

use crate::random::{Random, Seed};
use crate::time::Nanos;

/// The scheduled instants of an open load, counted from the start of the phase, never falling.
pub trait Arrivals: Send {
    fn next_arrival(&mut self) -> Option<Nanos>;
}

/// Poisson arrivals: the gaps are independent and exponential with mean `1 / lambda`, where `lambda` is
/// the arrival rate per second. The first arrival comes one gap after the start.
///
/// Endless. Source: Kingman, Poisson Processes, 1993, section 4.1.
#[derive(Clone, Debug)]
pub struct Poisson {
    gap_mean_ns: f64,
    now_ns: ExactSum,
    random: Random,
}

impl Poisson {
    pub fn new(rate_per_second: f64, seed: Seed) -> Result<Self, RateError> {
        let gap_mean_ns = 1e9 / check_rate(rate_per_second)?;
        Ok(Self { gap_mean_ns, now_ns: ExactSum::default(), random: Random::new(seed) })
    }
}

impl Arrivals for Poisson {
    fn next_arrival(&mut self) -> Option<Nanos> {
        self.now_ns.add(self.random.exponential(self.gap_mean_ns));
        // Beyond what 64 bits of nanoseconds hold there is no arrival any more.
        (self.now_ns.whole != u64::MAX).then_some(Nanos(self.now_ns.whole))
    }
}

/// A sum kept as a whole part and a fraction.
///
/// Adding a term `x` to a plain `f64` sum `S` loses up to `S * 2^-53`, so the error grows with the sum
/// and with the number of terms. Here only the fraction, which is below 1, is ever rounded.
#[derive(Clone, Copy, Debug, Default)]
struct ExactSum {
    /// Whole part; the fraction is below 1.
    whole: u64,
    /// What is above it, `0 <= fraction < 1`.
    fraction: f64,
}

impl ExactSum {
    /// Adds a term that is not negative; the sum stops at the largest whole number.
    fn add(&mut self, term: f64) {
        let whole = term.trunc();
        self.whole = self.whole.saturating_add(whole as u64);
        self.fraction += term - whole;
        if self.fraction >= 1.0 {
            self.fraction -= 1.0;
            self.whole = self.whole.saturating_add(1);
        }
    }
}

/// Highest arrival rate per second: at ten million, arrivals lie 100 ns apart, which is less than any
/// generator needs to send one request.
pub const RATE_MAX: f64 = 1e7;

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("arrival rate {0} is not above 0 and at most {RATE_MAX} per second")]
pub struct RateError(pub f64);

/// The rate itself, per second, where it is one that arrivals can have.
pub fn check_rate(rate: f64) -> Result<f64, RateError> {
    if rate > 0.0 && rate <= RATE_MAX { Ok(rate) } else { Err(RateError(rate)) }
}

/// Think time of a TPC-W browser: mean 7 s, at most 70 s.
pub const TPCW_THINK_TIME: Pause =
    Pause { mean: Nanos::from_secs(7), longest: Some(Nanos::from_secs(70)), uniform: false };

/// Length of a TPC-W session: mean 15 min, at most 60 min.
pub const TPCW_SESSION_LENGTH: Pause =
    Pause { mean: Nanos::from_secs(15 * 60), longest: Some(Nanos::from_secs(60 * 60)), uniform: false };

/// A negative exponential duration; what is drawn above `longest` becomes `longest`, as TPC-W has it.
///
/// With the mean `m` before the cut at `c`, the mean after it is `m (1 - exp(-c / m))`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Mean before the cut; zero for no pause at all.
    pub mean: Nanos,
    pub longest: Option<Nanos>,
    /// Whether it is uniform from nothing to twice the mean instead, as DVD Store has it; then nothing is cut.
    pub uniform: bool,
}

impl Pause {
    pub const fn new(mean: Nanos) -> Self {
        Self { mean, longest: None, uniform: false }
    }

    pub const fn uniform(mean: Nanos) -> Self {
        Self { mean, longest: None, uniform: true }
    }

    pub fn draw(&self, random: &mut Random) -> Nanos {
        if self.uniform {
            return Nanos(random.uniform(0, self.mean.0.saturating_mul(2)));
        }
        let drawn = random.exponential_nanos(self.mean);
        self.longest.map_or(drawn, |longest| drawn.min(longest))
    }

    /// Draws what is left of a pause that somebody looks into at a random moment: how long a client of a load that
    /// has run for ever still thinks.
    ///
    /// Its density is `P(pause > t)` over the mean pause: the exponential one given that it is below the cut. As an
    /// exponential duration has no memory, what it exceeds the last whole cut by has that distribution.
    ///
    /// Of a uniform pause `P(pause > t)` falls in a straight line, so that a fraction `u` is left of twice the mean with
    /// `1 - sqrt(1 - u)`.
    pub fn residual(&self, random: &mut Random) -> Nanos {
        if self.uniform {
            return Nanos((2.0 * self.mean.0 as f64 * (1.0 - (1.0 - random.unit()).sqrt())) as u64);
        }
        let drawn = random.exponential_nanos(self.mean);
        match self.longest {
            Some(Nanos::ZERO) => Nanos::ZERO,
            Some(longest) => Nanos(drawn.0 % longest.0),
            None => drawn,
        }
    }
}

/// Evenly spaced arrivals: arrival `k = 0, 1, 2, ...` is at `k / lambda` seconds, where `lambda` is the
/// arrival rate per second, computed from `k` and rounded down to a nanosecond.
///
/// Endless.
#[derive(Clone, Debug)]
pub struct Constant {
    rate: f64,
    next: u64,
}

impl Constant {
    pub fn new(rate_per_second: f64) -> Result<Self, RateError> {
        Ok(Self { rate: check_rate(rate_per_second)?, next: 0 })
    }
}

impl Arrivals for Constant {
    fn next_arrival(&mut self) -> Option<Nanos> {
        // The quotient is exact to 2^-53: below a nanosecond for the first hundred days.
        let instant = (self.next as f64 * 1e9 / self.rate) as u64;
        self.next += 1;
        (instant != u64::MAX).then_some(Nanos(instant))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seed;
    use proptest::prelude::*;

    #[test]
    fn a_million_arrivals_come_at_the_mean_rate() {
        let mut poisson = Poisson::new(50_000.0, Seed(5)).unwrap();
        let last = (0..1_000_000).map_while(|_| poisson.next_arrival()).last().unwrap();
        // The standard error of the duration is 20 s / sqrt(1e6) = 0.02 s.
        assert!((last.as_secs_f64() - 20.0).abs() < 0.06, "{last:?}");
    }

    #[test]
    fn a_rate_too_low_for_the_clock_ends_instead_of_wrapping() {
        let mut poisson = Poisson::new(1e-300, Seed(6)).unwrap();
        assert_eq!(poisson.next_arrival(), None);
        assert_eq!(poisson.next_arrival(), None);
    }

    proptest! {
        #[test]
        fn arrivals_never_fall(rate in 1e-3..1e7_f64, seed: u64) {
            let mut poisson = Poisson::new(rate, Seed(seed)).unwrap();
            let instants: Vec<_> = (0..200).map_while(|_| poisson.next_arrival()).collect();
            prop_assert!(instants.is_sorted());
        }
    }

    #[test]
    fn ten_million_terms_add_up_without_drift() {
        let mut sum = ExactSum { whole: 1 << 52, fraction: 0.0 };
        for _ in 0..10_000_000 {
            sum.add(0.125);
        }
        assert_eq!(sum.whole, (1 << 52) + 1_250_000);
        assert_eq!(sum.fraction, 0.0);
    }

    #[test]
    fn a_sum_stops_at_the_largest_whole_number() {
        let mut sum = ExactSum::default();
        sum.add(f64::MAX);
        sum.add(5.5);
        assert_eq!(sum.whole, u64::MAX);
    }

    #[test]
    fn only_finite_positive_rates_up_to_ten_million_pass() {
        assert_eq!(check_rate(0.001), Ok(0.001));
        assert_eq!(check_rate(RATE_MAX), Ok(RATE_MAX));
        for rate in [0.0, -0.0, -3.0, 1.1e7, f64::INFINITY] {
            assert_eq!(check_rate(rate), Err(RateError(rate)));
        }
        assert!(check_rate(f64::NAN).is_err());
    }

    #[test]
    fn a_session_is_cut_at_an_hour_as_often_as_the_benchmark_says() {
        let mut random = Random::new(Seed(2));
        let hour = Nanos::from_secs(3600);
        let lengths: Vec<_> = (0..200_000).map(|_| TPCW_SESSION_LENGTH.draw(&mut random)).collect();
        let cut = lengths.iter().filter(|&&length| length == hour).count() as f64 / 200_000.0;
        assert!((cut - 0.018_315_6).abs() < 0.001, "{cut}");
        assert!(lengths.iter().all(|&length| length <= hour));
        let mean = lengths.iter().map(|length| length.as_secs_f64()).sum::<f64>() / 200_000.0;
        let expected = 900.0 * (1.0 - (-4.0_f64).exp());
        assert!((mean - expected).abs() < 6.0, "{mean} {expected}");
    }

    #[test]
    fn what_is_left_of_a_pause_is_as_after_a_long_time() {
        // Thinking over and over for ten hours, each client is looked at once: in the middle of a pause.
        let pause = Pause { longest: Some(Nanos::from_secs(10)), ..Pause::new(Nanos::from_secs(7)) };
        let mut random = Random::new(Seed(4));
        let mut renewed = |at: Nanos| {
            let mut end = Nanos::ZERO;
            while end <= at {
                end += pause.draw(&mut random);
            }
            (end - at).as_secs_f64()
        };
        let mut seen: Vec<f64> = (0..4_000).map(|index| renewed(Nanos::from_secs(36_000 + index))).collect();
        let mut random = Random::new(Seed(5));
        let mut drawn: Vec<f64> = (0..4_000).map(|_| pause.residual(&mut random).as_secs_f64()).collect();
        seen.sort_by(f64::total_cmp);
        drawn.sort_by(f64::total_cmp);
        // 1 % level of the Kolmogorov-Smirnov test of two samples; a whole pause would be 0.2 away.
        assert!(distance(&seen, &drawn) < 1.63 * (2.0_f64 / 4_000.0).sqrt());
        let scale = 1.0 - (-10.0_f64 / 7.0).exp();
        let expected = 7.0 - 10.0 * (1.0 - scale) / scale;
        let mean = drawn.iter().sum::<f64>() / 4_000.0;
        assert!((mean - expected).abs() < 0.2, "{mean} {expected}");
    }

    /// Largest distance of two empirical distributions of equally many sorted values.
    fn distance(a: &[f64], b: &[f64]) -> f64 {
        let below = |sample: &[f64], x: f64| sample.partition_point(|&value| value <= x) as f64;
        let gaps = a.iter().chain(b).map(|&x| (below(a, x) - below(b, x)).abs());
        gaps.fold(0.0, f64::max) / a.len() as f64
    }

    #[test]
    fn a_uniform_pause_has_its_mean_and_leaves_two_thirds_of_it() {
        let pause = Pause::uniform(Nanos::from_secs(6));
        let mut random = Random::new(Seed(9));
        let mean = |values: Vec<Nanos>| {
            assert!(values.iter().all(|value| *value <= Nanos::from_secs(12)));
            values.iter().map(|value| value.as_secs_f64()).sum::<f64>() / values.len() as f64
        };
        let drawn = mean((0..100_000).map(|_| pause.draw(&mut random)).collect());
        let left = mean((0..100_000).map(|_| pause.residual(&mut random)).collect());
        // The density of what is left is 1/m (1 - t/2m), whose mean is 2m/3; standard errors are about 0.01.
        assert!((drawn - 6.0).abs() < 0.06 && (left - 4.0).abs() < 0.05, "{drawn} {left}");
        assert_eq!(Pause::uniform(Nanos::ZERO).residual(&mut random), Nanos::ZERO);
    }

    #[test]
    fn a_phase_of_whole_seconds_has_exactly_its_arrivals() {
        let mut constant = Constant::new(1_000.0).unwrap();
        let in_minute = std::iter::from_fn(|| constant.next_arrival())
            .take_while(|&instant| instant < Nanos::from_secs(60))
            .count();
        assert_eq!(in_minute, 60_000);
    }

    proptest! {
        #[test]
        fn every_arrival_is_within_a_nanosecond_of_its_place(rate in 1..10_000_000_u64, skip in 0..1_000_000_u64) {
            let mut constant = Constant { rate: rate as f64, next: skip };
            let exact = u128::from(skip) * 1_000_000_000 / u128::from(rate);
            let instant = constant.next_arrival().unwrap();
            prop_assert!(u128::from(instant.0).abs_diff(exact) <= 1, "{instant:?} {exact}");
        }
    }
}
