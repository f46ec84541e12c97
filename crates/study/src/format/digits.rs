//! How many digits of a value are shown.

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
    let sign = if is_zero { "" } else { sign };
    format!("{sign}{}{}", thousands(whole), rest.map_or_else(String::new, |rest| format!(".{rest}")))
}

/// Digits with their thousands apart.
pub(super) fn thousands(digits: &str) -> String {
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Power of ten of the first digit after rounding to `digits` digits; 0 for zero.
fn exponent(value: f64, digits: usize) -> i32 {
    let text = format!("{value:.*e}", digits.saturating_sub(1));
    text.rsplit_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0)
}

/// `41.2 ± 0.8`: the half-width with one digit, two where it begins with 1.00 to 3.54 (the rule of the
/// Particle Data Group), and the mean to the same place, or to its own second digit where the interval is so wide that less
/// would be left of it: `0.40 ± 40`. Without a half-width the mean alone.
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
    // 0.981 to a tenth is 1.0, which has its two digits.
    let has_two = mean == 0.0 || exponent((mean / unit).round() * unit, 5) > place;
    let own = if has_two { place } else { place.min(exponent(mean, 2) - 1) };
    format!("{} ± {}", rounded(mean, own), rounded(half.max(10_f64.powi(place)), place))
}

/// `2,041 ± 900`: a mean that stands beside others without an interval, with as many digits as they have, so that none is out
/// of order by its rounding alone.
pub fn beside(mean: f64, half_width: Option<f64>) -> String {
    let text = significant(mean, BESIDE_DIGITS);
    match half_width {
        Some(half) if half.is_finite() && half != 0.0 && mean.is_finite() => {
            let own = exponent(mean, BESIDE_DIGITS) - BESIDE_DIGITS as i32 + 1;
            let place = place_of(mean, half.abs()).max(own.min(0));
            format!("{text} ± {}", rounded(half.abs().max(10_f64.powi(place)), place))
        }
        Some(0.0) => format!("{text} ± 0"),
        _ => text,
    }
}

/// Digits of what stands in a row of means without intervals.
pub const BESIDE_DIGITS: usize = 3;

fn rounded(value: f64, place: i32) -> String {
    let unit = 10_f64.powi(place);
    fixed((value / unit).round() * unit, (-place).max(0) as usize)
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
            (1_843.0, Some(213.0), "1,840 ± 210"),
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
    fn a_mean_beside_others_has_their_digits() {
        let cases = [
            (2_041.0, 900.0, "2,041 ± 900"),
            (20.41, 4.0, "20.4 ± 4"),
            (20.41, 0.001, "20.4 ± 0.1"),
            (2_041.4, 0.2, "2,041 ± 1"),
            (41.2, 0.0, "41.2 ± 0"),
            (41.2, f64::NAN, "41.2"),
            (f64::NAN, 1.0, ABSENT),
        ];
        for (mean, half, text) in cases {
            assert_eq!(beside(mean, Some(half)), text, "{mean} {half}");
        }
    }

    #[test]
    fn an_interval_however_wide_leaves_its_mean_two_digits() {
        let cases = [
            (0.4, 40.0, "0.40 ± 40"),
            (304.0, 1_400.0, "300 ± 1,400"),
            (2_041.0, 4_000.0, "2,000 ± 4,000"),
            (-0.96, 30.0, "-0.96 ± 30"),
            (9.96, 40.0, "10 ± 40"),
            (0.0, 40.0, "0 ± 40"),
        ];
        for (mean, half, text) in cases {
            assert_eq!(plus_minus(mean, Some(half)), text, "{mean} {half}");
        }
    }
}
