//! Numbers as people read them: the one place that decides on digits, units and words.

mod estimates;
mod sensed;
mod times;
mod words;

pub use estimates::{estimate, estimate_percent, estimate_rate, estimate_time, mean};
pub use sensed::sensed;
pub use times::{TimeUnit, time};
pub use words::{bytes, count, counted, date, instant, percent, plain, rate, seconds, stamp};

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

/// Up to three significant digits without zeros at the end: for values that people chose.
pub fn short(value: f64) -> String {
    let text = significant(value, 3);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
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
}
