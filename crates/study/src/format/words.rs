//! Rates, sizes, counts, waits and dates.

use super::digits::{ABSENT, short, thousands};

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
