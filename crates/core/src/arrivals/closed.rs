use crate::random::Random;
use crate::time::Nanos;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seed;

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
}
