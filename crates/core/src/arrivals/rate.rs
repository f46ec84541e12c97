use std::fmt;

/// Highest arrival rate per second: at ten million, arrivals lie 100 ns apart, which is less than any
/// generator needs to send one request.
pub const RATE_MAX: f64 = 1e7;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateError(pub f64);

impl fmt::Display for RateError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "arrival rate {} is not above 0 and at most {RATE_MAX} per second", self.0)
    }
}

impl std::error::Error for RateError {}

/// The rate itself, per second, where it is one that arrivals can have.
pub fn check_rate(rate: f64) -> Result<f64, RateError> {
    if rate > 0.0 && rate <= RATE_MAX { Ok(rate) } else { Err(RateError(rate)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_finite_positive_rates_up_to_ten_million_pass() {
        assert_eq!(check_rate(0.001), Ok(0.001));
        assert_eq!(check_rate(RATE_MAX), Ok(RATE_MAX));
        for rate in [0.0, -0.0, -3.0, 1.1e7, f64::INFINITY] {
            assert_eq!(check_rate(rate), Err(RateError(rate)));
        }
        assert!(check_rate(f64::NAN).is_err());
    }
}
