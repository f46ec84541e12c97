//! How many digits of a value are shown; rates, sizes, counts, waits and dates.

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
fn thousands(digits: &str) -> String {
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

/// A rate per second, as `62.5/s`.
pub fn rate(per_s: f64) -> String {
    if per_s.is_finite() { format!("{}/s", short(per_s)) } else { ABSENT.to_owned() }
}

/// `62 %`, `7.5 %`.
pub fn percent(value: f64) -> String {
    if value.is_finite() { format!("{} %", short(value)) } else { ABSENT.to_owned() }
}

/// A count with its thousands apart, as `12,400`.
pub fn count(value: u64) -> String {
    thousands(&value.to_string())
}

/// A size in the largest unit that keeps it above one, as `64 MiB`.
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

/// `20261121-2105` from seconds since 1970: a date that sorts, for names.
pub fn stamp(unix_s: u64) -> String {
    date(unix_s).trim_end_matches(" UTC").replace(['-', ':'], "").replace(' ', "-")
}

/// `2026-11-21 21:05 UTC` from seconds since 1970.
pub fn date(unix_s: u64) -> String {
    let (year, month, day) = civil(unix_s);
    let (hour, minute) = (unix_s / 3600 % 24, unix_s / 60 % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

/// `2026-11-21T21:05:09.123Z` from milliseconds since 1970: as RFC 3339 writes it, in UTC, so that lines sort and no
/// zone is needed to read them.
pub fn instant(unix_ms: u64) -> String {
    let (unix_s, ms) = (unix_ms / 1_000, unix_ms % 1_000);
    let (year, month, day) = civil(unix_s);
    let (hour, minute, second) = (unix_s / 3600 % 24, unix_s / 60 % 60, unix_s % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// Year, month and day of seconds since 1970, by the proleptic Gregorian calendar
/// (days to civil date after Howard Hinnant's `civil_from_days`).
fn civil(unix_s: u64) -> (u64, u64, u64) {
    let days = unix_s / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

/// `1 run`, `3 runs`.
pub fn counted(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", count(number as u64), if number == 1 { "" } else { "s" })
}

/// `a`, `a and b`, `a, b and c`.
pub fn listed<N: AsRef<str>>(names: &[N]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        few => few.concat(),
    }
}

/// Whether a character could steer a terminal, or turn around how the text beside it is read: control characters, ends of lines
/// and tabs among them, and marks and overrides of the direction of writing.
pub fn steers(character: char) -> bool {
    let turns =
        matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    character.is_control() || turns
}

/// Text from outside on one line, without the characters that could steer a terminal.
pub fn plain(text: &str) -> String {
    let on_one_line = text.chars().map(|character| if character == '\n' { ' ' } else { character });
    on_one_line.filter(|character| !steers(*character)).collect()
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

    #[test]
    fn sizes_rates_and_waits_read_like_words() {
        assert_eq!(bytes(64 << 20), "64 MiB");
        assert_eq!(bytes(1_048_575), "1 MiB");
        assert_eq!(bytes(u64::MAX), "16,777,216 TiB");
        assert_eq!(rate(12_500.0), "12,500/s");
        assert_eq!(seconds(200.0), "3 min 20 s");
        assert_eq!(seconds(7_500.0), "2 h 5 min");
        assert_eq!(seconds(f64::NAN), ABSENT);
        assert_eq!((counted(1, "run"), listed(&["a", "b", "c"])), ("1 run".into(), "a, b and c".into()));
    }

    #[test]
    fn instants_are_written_to_the_millisecond() {
        // As `date -u -d @SECONDS +%FT%TZ` writes them.
        assert_eq!(instant(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(instant(951_868_799_999), "2000-02-29T23:59:59.999Z");
        assert_eq!(instant(1_795_395_723_456), "2026-11-23T01:02:03.456Z");
        assert_eq!(instant(4_107_542_400_007), "2100-03-01T00:00:00.007Z");
    }

    #[test]
    fn text_from_outside_cannot_steer_the_terminal() {
        assert_eq!(plain("a\u{1b}[2J\nb"), "a[2J b");
    }
}
