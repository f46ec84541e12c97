//! What an I/O of a kind and a size costs, from how many of them full storage does in a second.
//!
//! Two closed loops of the same depth, one of reads of 16 KB and one of the I/Os in question, keep full storage busy for the
//! same time in each second. So one I/O takes the device time of as many reads as `X(reads) / X(I/Os)`, however many spindles
//! there are, whatever a network adds to a latency, and behind a write cache too, as soon as that is full. Latency would show
//! none of it: a cached write looks cheap, and a queue makes all I/Os look alike.

use crate::statistics::Sample;

/// A mean with its standard error over the mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub value: f64,
    /// Standard error over it; infinite where there are too few samples to know.
    pub error: f64,
}

/// The mean of samples; `None` where there is none, or it is not above zero.
pub fn mean(samples: &[f64]) -> Option<Estimate> {
    let sample: Sample = samples.iter().copied().collect();
    let mean = sample.mean().filter(|mean| mean.is_finite() && *mean > 0.0)?;
    Some(Estimate { value: mean, error: sample.standard_error().map_or(f64::INFINITY, |error| error / mean) })
}

/// Cost of I/Os of which full storage does so many in a second, by samples of both; `None` where one of them has none.
pub fn cost(reads: &[f64], ios: &[f64]) -> Option<Estimate> {
    let (reads, ios) = (mean(reads)?, mean(ios)?);
    Some(Estimate { value: reads.value / ios.value, error: reads.error.hypot(ios.error) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_as_many_in_a_second_cost_twice_as_much() {
        let found = cost(&[990.0, 1_000.0, 1_010.0], &[505.0, 495.0]).unwrap();
        assert!((found.value - 2.0).abs() < 1e-9);
        // Standard errors of 5.77 of 1,000 and of 5 of 500.
        assert!((found.error - 0.005_77_f64.hypot(0.01)).abs() < 1e-5, "{found:?}");
    }

    #[test]
    fn one_sample_does_not_say_how_far_it_can_be_trusted_and_none_says_nothing() {
        assert_eq!(mean(&[5.0]), Some(Estimate { value: 5.0, error: f64::INFINITY }));
        assert_eq!((mean(&[]), mean(&[0.0, 0.0]), mean(&[f64::NAN])), (None, None, None));
        assert_eq!(cost(&[1.0], &[]), None);
    }
}
