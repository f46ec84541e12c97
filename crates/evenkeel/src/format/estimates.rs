//! Means with their uncertainty.

use super::{ABSENT, TimeUnit, plus_minus};
use evenkeel_lab::store::format::EstimateRecord;

/// Half of the 95 % interval, where there is one.
fn half_width(estimate: &EstimateRecord) -> Option<f64> {
    let half = (estimate.high? - estimate.low?) / 2.0;
    half.is_finite().then_some(half)
}

/// The mean of an estimate; `None` without runs or where it is not a number.
pub fn mean(estimate: &EstimateRecord) -> Option<f64> {
    (estimate.n > 0 && estimate.mean.is_finite()).then_some(estimate.mean)
}

/// `41.2 ± 0.8`, scaled by `scale`, without a unit.
pub fn estimate(estimate: &EstimateRecord, scale: f64) -> String {
    mean(estimate).map_or_else(
        || ABSENT.to_owned(),
        |mean| plus_minus(mean * scale, half_width(estimate).map(|half| half * scale)),
    )
}

/// `41.2 ± 0.8 ms`: an estimate of a time, in the unit that suits it.
pub fn estimate_time(time: &EstimateRecord) -> String {
    // By the upper end where there is one, so that no mean just below a unit is rounded up to 1,000 of a lesser one.
    let upper = |mean: f64| mean + half_width(time).unwrap_or(0.0);
    with_unit(time, mean(time).map_or(TimeUnit::Milliseconds, |mean| TimeUnit::suiting(upper(mean))))
}

fn with_unit(time: &EstimateRecord, unit: TimeUnit) -> String {
    if mean(time).is_none() {
        return ABSENT.to_owned();
    }
    format!("{} {}", estimate(time, unit.per_ms()), unit.symbol())
}

/// `61.5 ± 1.2/s`.
pub fn estimate_rate(rate: &EstimateRecord) -> String {
    if mean(rate).is_none() { ABSENT.to_owned() } else { format!("{}/s", estimate(rate, 1.0)) }
}

/// `78.3 ± 0.9 %`.
pub fn estimate_percent(percent: &EstimateRecord) -> String {
    if mean(percent).is_none() { ABSENT.to_owned() } else { format!("{} %", estimate(percent, 1.0)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_without_runs_is_not_available() {
        assert_eq!(estimate_time(&EstimateRecord::default()), ABSENT);
        assert_eq!(estimate_rate(&EstimateRecord::default()), ABSENT);
        let nan = EstimateRecord { n: 3, mean: f64::NAN, ..EstimateRecord::default() };
        assert_eq!(estimate_percent(&nan), ABSENT);
    }

    #[test]
    fn an_estimate_of_a_time_takes_the_unit_of_its_mean() {
        let made = |mean: f64, half: f64| EstimateRecord {
            n: 3,
            mean,
            se: Some(half / 4.3),
            low: Some(mean - half),
            high: Some(mean + half),
        };
        assert_eq!(estimate_time(&made(41.23, 0.8)), "41.2 ± 0.8 ms");
        assert_eq!(estimate_time(&made(0.0412, 0.0008)), "41.2 ± 0.8 µs");
        assert_eq!(estimate_time(&made(0.981, 0.4)), "1.0 ± 0.4 ms");
        assert_eq!(estimate_time(&made(41_230.0, 800.0)), "41.2 ± 0.8 s");
        assert_eq!(estimate_rate(&made(61.52, 1.2)), "61.5 ± 1.2/s");
    }
}
