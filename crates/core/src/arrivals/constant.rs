use super::{Arrivals, RateError, check_rate};
use crate::time::Nanos;

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
    use proptest::prelude::*;

    #[test]
    fn the_ten_millionth_arrival_at_three_per_second_is_where_it_belongs() {
        let mut constant = Constant::new(3.0).unwrap();
        let last = (0..=10_000_000).map_while(|_| constant.next_arrival()).last().unwrap();
        assert_eq!(last, Nanos(10_000_000_000_000_000 / 3));
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
