//! Times as servers write them into logs.

use crate::data::tpcw::Date;

const SECOND: i64 = 1_000_000_000;

/// An instant in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Nanoseconds since 1970.
    pub at: u64,
    /// It has a fraction of a second.
    pub is_fine: bool,
}

/// `261130 10:00:00`, `2026-11-30T10:00:00.123456Z`, `2026-11-30 10:00:00+01:00`; without a zone it counts as UTC.
pub fn parse(text: &[u8]) -> Option<Stamp> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let (date, clock) = text.split_once(['T', ' '])?;
    let (clock, zone) = zone(clock.trim_start())?;
    let (clock, fraction) = clock.split_once('.').map_or((clock, None), |(clock, part)| (clock, Some(part)));
    let [hour, minute, second] = numbers(clock, ':')?;
    let in_range = hour < 24 && minute < 60 && second <= 60;
    let seconds = days(date)? * 86_400 + hour * 3_600 + minute * 60 + second - zone;
    let at = in_range.then_some(seconds * SECOND + fraction.map_or(Some(0), nanoseconds)?)?;
    Some(Stamp { at: u64::try_from(at).ok()?, is_fine: fraction.is_some() })
}

/// Seconds since 1970 with a fraction or without, as in `SET timestamp=`.
pub fn unix(text: &[u8]) -> Option<Stamp> {
    let text = std::str::from_utf8(text).ok()?;
    let (seconds, fraction) = text.split_once('.').map_or((text, None), |(one, two)| (one, Some(two)));
    let at = whole(seconds)?.checked_mul(SECOND)? + fraction.map_or(Some(0), nanoseconds)?;
    Some(Stamp { at: u64::try_from(at).ok()?, is_fine: fraction.is_some() })
}

/// The clock, and how many seconds its zone is ahead.
fn zone(clock: &str) -> Option<(&str, i64)> {
    let clock = clock.strip_suffix('Z').unwrap_or(clock);
    let Some(at) = clock.find(['+', '-']) else { return Some((clock, 0)) };
    let (clock, zone) = clock.split_at(at);
    let [hours, minutes] = numbers(zone.get(1..)?, ':')?;
    let ahead = hours * 3_600 + minutes * 60;
    Some((clock, if zone.starts_with('-') { -ahead } else { ahead }))
}

fn nanoseconds(fraction: &str) -> Option<i64> {
    let length = u32::try_from(fraction.len()).ok().filter(|length| *length <= 9)?;
    Some(whole(fraction)? * 10_i64.pow(9 - length))
}

fn numbers<const N: usize>(text: &str, between: char) -> Option<[i64; N]> {
    let numbers: Option<Vec<i64>> = text.split(between).map(whole).collect();
    numbers?.try_into().ok()
}

fn whole(text: &str) -> Option<i64> {
    let is_number = (1..=10).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// Days since 1970.
fn days(date: &str) -> Option<i64> {
    let [year, month, day] = match date.len() {
        6 if date.is_ascii() => [2_000 + whole(&date[..2])?, whole(&date[2..4])?, whole(&date[4..])?],
        _ => numbers(date, '-')?,
    };
    let in_range = (1_970..2_262).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    in_range.then(|| i64::from(Date::new(year as i32, month as u32, day as u32).0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_all_servers_are_read_and_those_of_no_server_are_not() {
        for (text, expected) in [
            ("261130 10:00:00", Some((1_796_032_800_000_000_000, false))),
            ("261201  0:03:18", Some((1_796_083_398_000_000_000, false))),
            ("2026-12-01T00:03:18.123456Z", Some((1_796_083_398_123_456_000, true))),
            ("2026-12-01T01:03:18.5+01:00", Some((1_796_083_398_500_000_000, true))),
            ("2026-11-30 22:03:18-02:00", Some((1_796_083_398_000_000_000, false))),
            ("1970-01-01 00:00:00", Some((0, false))),
            ("2000-02-29 00:00:00", Some((951_782_400_000_000_000, false))),
            ("1970-01-01 00:00:00+01:00", None),
            ("30.11.2026 10:00:00", None),
            ("11/30/2026 10:00:00 AM", None),
            ("2026-13-01 00:00:00", None),
            ("2026-11-30 25:00:00", None),
            ("2026-11-30", None),
            ("9é61130 10:00:00", None),
            ("", None),
        ] {
            let read = parse(text.as_bytes()).map(|stamp| (stamp.at, stamp.is_fine));
            assert_eq!(read, expected, "{text}");
        }
        assert_eq!(unix(b"1796083398.25"), Some(Stamp { at: 1_796_083_398_250_000_000, is_fine: true }));
        assert_eq!(unix(b"99999999999999"), None);
    }
}
