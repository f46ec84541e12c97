//! Numbers as people read them: the one place that decides on digits, units and words.

use evenkeel_lab::store::format::EstimateRecord;

/// What stands where a value could not be had.
pub const ABSENT: &str = "not available";

/// `value` with at least `digits` significant digits; digits before the point are never rounded away.
/// Thousands are set apart by commas.
pub fn significant(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    let decimals = (digits as i32 - 1 - exponent(value, digits)).max(0);
    fixed(value, decimals as usize)
}

/// `value` with this many decimals, thousands set apart by commas.
pub fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    let text = format!("{value:.decimals$}");
    let (sign, text) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
    let (whole, rest) = text.split_once('.').map_or((text, None), |(whole, rest)| (whole, Some(rest)));
    let is_zero = text.bytes().all(|byte| byte == b'0' || byte == b'.');
    let mut out = String::from(if is_zero { "" } else { sign });
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(rest) = rest {
        out.push('.');
        out.push_str(rest);
    }
    out
}

/// Power of ten of the first digit after rounding to `digits` digits; 0 for zero.
fn exponent(value: f64, digits: usize) -> i32 {
    let text = format!("{value:.*e}", digits.saturating_sub(1));
    text.rsplit_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0)
}

/// `41.2 ± 0.8`: the half-width with one digit, two where it begins with 1.00 to 3.54 (the rule of the
/// Particle Data Group), and the mean to the same place. Without a half-width the mean alone.
pub fn plus_minus(mean: f64, half_width: Option<f64>) -> String {
    let half = match half_width {
        Some(half) if half.is_finite() && mean.is_finite() => half.abs(),
        _ => return significant(mean, 3),
    };
    if half == 0.0 {
        return format!("{} ± 0", significant(mean, 3));
    }
    let place = place_of(mean, half);
    let unit = 10_f64.powi(place);
    let decimals = (-place).max(0) as usize;
    let half = (half / unit).round().max(1.0) * unit;
    format!("{} ± {}", fixed((mean / unit).round() * unit, decimals), fixed(half, decimals))
}

/// Power of ten of the last digit worth printing.
fn place_of(mean: f64, half: f64) -> i32 {
    let first = exponent(half, 1);
    let leading = half / 10_f64.powi(first);
    let place = if leading < 3.55 { first - 1 } else { first };
    // An interval far below the mean does not call for more than five digits of the mean.
    place.max(exponent(mean, 5) - 4)
}

/// Half of the 95 % interval, where there is one.
pub fn half_width(estimate: &EstimateRecord) -> Option<f64> {
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
    with_unit(time, mean(time).map_or(TimeUnit::Milliseconds, TimeUnit::suiting))
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

/// The unit a time is printed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Millionths of a second.
    Microseconds,
    /// Thousandths of a second.
    Milliseconds,
    /// Seconds.
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

/// `62.5/s`.
pub fn rate(per_s: f64) -> String {
    if per_s.is_finite() { format!("{}/s", short(per_s)) } else { ABSENT.to_owned() }
}

/// `62 %`, `7.5 %`.
pub fn percent(value: f64) -> String {
    if value.is_finite() { format!("{} %", short(value)) } else { ABSENT.to_owned() }
}

/// Up to three significant digits without zeros at the end: for values that people chose.
pub fn short(value: f64) -> String {
    let text = significant(value, 3);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// `12,400`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `64 MiB`.
pub fn bytes(value: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut size = value as f64;
    let mut unit = 0;
    while size >= 1023.5 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{} {}", short(size), UNITS[unit])
}

/// `45 s`, `3 min 20 s`, `2 h 5 min`: a length of time that people wait.
pub fn seconds(value: f64) -> String {
    if !value.is_finite() || value < 0.0 {
        return ABSENT.to_owned();
    }
    if value < 60.0 && value.fract() != 0.0 {
        return format!("{} s", short(value));
    }
    let whole = value.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, min, 0) => format!("{min} min"),
        (0, min, s) => format!("{min} min {s} s"),
        (h, 0, _) => format!("{h} h"),
        (h, min, _) => format!("{h} h {min} min"),
    }
}

/// `2026-11-21 21:05 UTC` from seconds since 1970, by the proleptic Gregorian calendar
/// (days to civil date after Howard Hinnant's `civil_from_days`).
pub fn date(unix_s: u64) -> String {
    let days = unix_s / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute) = (unix_s / 3600 % 24, unix_s / 60 % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

/// `20261121-2105` from seconds since 1970: a date that sorts, for names.
pub fn stamp(unix_s: u64) -> String {
    date(unix_s).trim_end_matches(" UTC").replace(['-', ':'], "").replace(' ', "-")
}

/// `1 run`, `3 runs`.
pub fn counted(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", count(number as u64), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_significant_and_thousands_are_set_apart() {
        let cases = [
            (0.0, "0.00"),
            (0.012_34, "0.0123"),
            (9.996, "10.0"),
            (99.96, "100"),
            (1234.4, "1,234"),
            (1_234_567.0, "1,234,567"),
            (-41.25, "-41.2"),
            (f64::NAN, ABSENT),
            (f64::INFINITY, ABSENT),
        ];
        for (value, text) in cases {
            assert_eq!(significant(value, 3), text, "{value}");
        }
        assert_eq!(fixed(-0.001, 1), "0.0");
    }

    #[test]
    fn an_interval_decides_the_digits_of_its_mean() {
        let cases = [
            (41.234, Some(0.78), "41.2 ± 0.8"),
            (41.234, Some(1.32), "41.2 ± 1.3"),
            (1_843.0, Some(213.0), "1,840 ± 210"),
            (1_843.0, Some(113.0), "1,840 ± 110"),
            (0.4127, Some(0.000_01), "0.41270 ± 0.00001"),
            (41.234, Some(0.000_01), "41.234 ± 0.001"),
            (41.234, Some(0.0), "41.2 ± 0"),
            (41.234, Some(0.97), "41.2 ± 1.0"),
            (41.234, None, "41.2"),
            (41.234, Some(f64::NAN), "41.2"),
            (0.0, Some(0.02), "0.000 ± 0.020"),
            (f64::NAN, Some(1.0), ABSENT),
        ];
        for (mean, half, text) in cases {
            assert_eq!(plus_minus(mean, half), text, "{mean} {half:?}");
        }
    }

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
        assert_eq!(estimate_time(&made(41_230.0, 800.0)), "41.2 ± 0.8 s");
        assert_eq!(estimate_rate(&made(61.52, 1.2)), "61.5 ± 1.2/s");
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

    #[test]
    fn sizes_rates_and_waits_read_like_words() {
        assert_eq!(bytes(64 << 20), "64 MiB");
        assert_eq!(bytes(1_048_575), "1 MiB");
        assert_eq!(bytes(512), "512 bytes");
        assert_eq!(bytes(u64::MAX), "16,777,216 TiB");
        assert_eq!(rate(12_500.0), "12,500/s");
        assert_eq!(rate(62.50), "62.5/s");
        assert_eq!(percent(80.0), "80 %");
        assert_eq!(seconds(7.5), "7.5 s");
        assert_eq!(seconds(200.0), "3 min 20 s");
        assert_eq!(seconds(7_500.0), "2 h 5 min");
        assert_eq!(seconds(f64::NAN), ABSENT);
        assert_eq!(counted(1, "run"), "1 run");
        assert_eq!(counted(1_200, "run"), "1,200 runs");
        assert_eq!(count(999), "999");
    }

    #[test]
    fn dates_follow_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_795_296_640), "2026-11-21 21:30 UTC");
    }
}
