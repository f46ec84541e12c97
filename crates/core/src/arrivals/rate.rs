//! What counts as an arrival rate.

use std::fmt;

/// Highest arrival rate per second: at ten million, arrivals lie 100 ns apart, which is less than any
/// generator needs to send one request.
pub const RATE_MAX: f64 = 1e7;

/// Why a number is no arrival rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RateError {
    /// Infinite or not a number.
    NotFinite(f64),
    /// Zero, where arrivals never come.
    Zero,
    /// The rate, which is below zero.
    Negative(f64),
    /// The rate, which is above [`RATE_MAX`].
    TooHigh(f64),
}

impl fmt::Display for RateError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFinite(rate) => write!(out, "arrival rate {rate} is not a finite number"),
            Self::Zero => write!(out, "arrival rate 0 brings no arrivals"),
            Self::Negative(rate) => write!(out, "arrival rate {rate} is negative"),
            Self::TooHigh(rate) => {
                write!(out, "arrival rate {rate} is above the highest possible, {RATE_MAX} per second")
            }
        }
    }
}

impl std::error::Error for RateError {}

/// The rate itself, per second, where it is one that arrivals can have.
///
/// # Errors
/// A rate that is not finite, zero, negative or above [`RATE_MAX`].
pub fn check_rate(rate: f64) -> Result<f64, RateError> {
    match rate {
        _ if !rate.is_finite() => Err(RateError::NotFinite(rate)),
        0.0 => Err(RateError::Zero),
        _ if rate < 0.0 => Err(RateError::Negative(rate)),
        _ if rate > RATE_MAX => Err(RateError::TooHigh(rate)),
        _ => Ok(rate),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_finite_positive_rates_up_to_ten_million_pass() {
        assert_eq!(check_rate(0.001), Ok(0.001));
        assert_eq!(check_rate(RATE_MAX), Ok(RATE_MAX));
        assert_eq!(check_rate(0.0), Err(RateError::Zero));
        assert_eq!(check_rate(-0.0), Err(RateError::Zero));
        assert_eq!(check_rate(-3.0), Err(RateError::Negative(-3.0)));
        assert_eq!(check_rate(1.1e7), Err(RateError::TooHigh(1.1e7)));
        assert_eq!(check_rate(f64::INFINITY), Err(RateError::NotFinite(f64::INFINITY)));
        assert!(matches!(check_rate(f64::NAN), Err(RateError::NotFinite(_))));
    }

    #[test]
    fn an_error_names_the_rate() {
        assert_eq!(RateError::Negative(-3.5).to_string(), "arrival rate -3.5 is negative");
        assert!(RateError::TooHigh(2e7).to_string().contains("20000000"));
    }
}
