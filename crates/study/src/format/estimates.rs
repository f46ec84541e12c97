//! Means with their uncertainty.

use super::digits::{ABSENT, BESIDE_DIGITS, beside, plus_minus, significant};
use crate::store::format::EstimateRecord;
use evenkeel_core::statistics::Ratio;

/// An interval whose ends are this many times as far from the mean as each other is told by its ends: a half-width would
/// place one of them where it is not.
const SKEWED: f64 = 1.5;

/// Half of the 95 % interval, where there is one.
fn half_width(estimate: &EstimateRecord) -> Option<f64> {
    let half = (estimate.high? - estimate.low?) / 2.0;
    half.is_finite().then_some(half)
}

/// Both ends of an interval that reaches much farther up than down, or down than up.
fn skewed(estimate: &EstimateRecord) -> Option<(f64, f64)> {
    let (low, high) = (estimate.low?, estimate.high?);
    let (down, up) = (estimate.mean - low, high - estimate.mean);
    let is_skewed = down > 0.0 && up > 0.0 && down.max(up) > SKEWED * down.min(up);
    (is_skewed && down.is_finite() && up.is_finite()).then_some((low, high))
}

/// The mean of an estimate; `None` without runs or where it is not a number.
pub fn mean(estimate: &EstimateRecord) -> Option<f64> {
    (estimate.n > 0 && estimate.mean.is_finite()).then_some(estimate.mean)
}

/// `41.2 ± 0.8`, or `41 (35 to 52)` where the interval is skewed, or `41.2 (35 to ?)` where runs are too short for its upper end;
/// scaled by `scale`, without a unit.
pub fn estimate(estimate: &EstimateRecord, scale: f64) -> String {
    let Some(mean) = mean(estimate) else { return ABSENT.to_owned() };
    if let Some(low) = estimate.at_least() {
        return format!("{} ({} to ?)", significant(mean * scale, 3), significant(low * scale, 2));
    }
    if let Some((low, high)) = skewed(estimate) {
        let [mean, low, high] = [mean, low, high].map(|value| significant(value * scale, 2));
        return format!("{mean} ({low} to {high})");
    }
    plus_minus(mean * scale, half_width(estimate).map(|half| half * scale))
}

/// The same in a row of means without intervals, as percentiles stand beside each other: the mean with their digits.
pub fn estimate_beside(estimate: &EstimateRecord, scale: f64) -> String {
    let Some(mean) = mean(estimate).filter(|_| estimate.at_least().is_none()) else {
        return self::estimate(estimate, scale);
    };
    if let Some((low, high)) = skewed(estimate) {
        let [low, high] = [low, high].map(|value| significant(value * scale, 2));
        return format!("{} ({low} to {high})", significant(mean * scale, BESIDE_DIGITS));
    }
    beside(mean * scale, half_width(estimate).map(|half| half * scale))
}

/// `41.2 ± 0.8 ms`: an estimate of a time, in the unit that suits it.
pub fn estimate_time(time: &EstimateRecord) -> String {
    // By the upper end where there is one, so that no mean just below a unit is rounded up to 1,000 of a lesser one.
    let upper = |mean: f64| mean + half_width(time).unwrap_or(0.0);
    mean(time).map_or_else(
        || ABSENT.to_owned(),
        |mean| {
            let unit = TimeUnit::suiting(upper(mean));
            format!("{} {}", estimate(time, unit.per_ms()), unit.symbol())
        },
    )
}

/// `61.5 ± 1.2/s`.
pub fn estimate_rate(rate: &EstimateRecord) -> String {
    mean(rate).map_or_else(|| ABSENT.to_owned(), |_| format!("{}/s", estimate(rate, 1.0)))
}

/// `78.3 ± 0.9 %`.
pub fn estimate_percent(percent: &EstimateRecord) -> String {
    mean(percent).map_or_else(|| ABSENT.to_owned(), |_| format!("{} %", estimate(percent, 1.0)))
}

/// `1.25 (1.10 to 1.42)`; without an interval where there are too few runs.
pub fn ratio(ratio: &Ratio) -> String {
    let short = |value: f64| significant(value, 3);
    match ratio.interval {
        Some((low, high)) => format!("{} ({} to {})", short(ratio.ratio), short(low), short(high)),
        None => short(ratio.ratio),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Millionths of a second.
    Microseconds,
    /// Thousandths of a second.
    Milliseconds,
    /// Seconds, for what takes longer than a thousand milliseconds.
    Seconds,
}

impl TimeUnit {
    /// The unit in which `ms` milliseconds read best; for a column or an axis pass the largest value.
    pub fn suiting(ms: f64) -> Self {
        match ms.abs() {
            // Just below a unit's edge, three digits would round up to 1000.
            size if size < 0.9995 && size > 0.0 => Self::Microseconds,
            size if size >= 9_999.5 => Self::Seconds,
            _ => Self::Milliseconds,
        }
    }

    /// `µs`, `ms` or `s`.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Microseconds => "µs",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
        }
    }

    /// How many of this unit a millisecond has.
    pub fn per_ms(self) -> f64 {
        match self {
            Self::Microseconds => 1e3,
            Self::Milliseconds => 1.0,
            Self::Seconds => 1e-3,
        }
    }
}

/// `820 µs`, `41.2 ms`, `18.4 s` from milliseconds.
pub fn time(ms: f64) -> String {
    if !ms.is_finite() {
        return ABSENT.to_owned();
    }
    let unit = TimeUnit::suiting(ms);
    format!("{} {}", significant(ms * unit.per_ms(), 3), unit.symbol())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_of_a_time_takes_the_unit_of_its_mean() {
        let made =
            |mean: f64, half: f64| EstimateRecord { mean, ..ends(Some(mean - half), Some(mean + half)) };
        assert_eq!(estimate_time(&made(41.23, 0.8)), "41.2 ± 0.8 ms");
        assert_eq!(estimate_time(&made(0.0412, 0.0008)), "41.2 ± 0.8 µs");
        assert_eq!(estimate_time(&made(0.981, 0.4)), "1.0 ± 0.4 ms");
        assert_eq!(estimate_time(&made(41_230.0, 800.0)), "41.2 ± 0.8 s");
        assert_eq!(estimate_rate(&made(61.52, 1.2)), "61.5 ± 1.2/s");
    }

    fn ends(low: Option<f64>, high: Option<f64>) -> EstimateRecord {
        EstimateRecord { n: 3, mean: 41.23, se: Some(6.0), low, high, degrees: Some(4.0) }
    }

    #[test]
    fn an_interval_without_an_upper_end_says_so() {
        let bound = ends(Some(35.04), None);
        assert_eq!(
            (estimate_time(&bound), estimate(&bound, 1.0)),
            ("41.2 (35 to ?) ms".into(), "41.2 (35 to ?)".into())
        );
        assert_eq!(estimate_rate(&bound), "41.2 (35 to ?)/s");
        assert_eq!(estimate_time(&ends(None, None)), "41.2 ms");
    }

    #[test]
    fn a_skewed_interval_is_told_by_its_ends() {
        assert_eq!(estimate_time(&ends(Some(34.6), Some(52.3))), "41 (35 to 52) ms");
        assert_eq!(estimate_time(&ends(Some(39.0), Some(44.0))), "41.2 ± 2.5 ms");
    }

    #[test]
    fn times_change_their_unit() {
        let cases = [
            (0.0, "0.00 ms"),
            (0.041_2, "41.2 µs"),
            (0.999_9, "1.00 ms"),
            (41.23, "41.2 ms"),
            (1_840.0, "1,840 ms"),
            (12_345.0, "12.3 s"),
            (f64::NAN, ABSENT),
        ];
        for (ms, text) in cases {
            assert_eq!(time(ms), text, "{ms}");
        }
    }
}
