use super::Arrivals;
use super::exact_sum::ExactSum;
use super::rate::{RateError, check_rate};
use crate::random::{Random, Seed};
use crate::time::Nanos;

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_same_seed_gives_the_same_arrivals() {
        let arrivals = |seed| {
            let mut poisson = Poisson::new(1_000.0, Seed(seed)).unwrap();
            std::iter::from_fn(move || poisson.next_arrival()).take(100).collect::<Vec<_>>()
        };
        assert_eq!(arrivals(3), arrivals(3));
        assert_ne!(arrivals(3), arrivals(4));
    }

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
}
