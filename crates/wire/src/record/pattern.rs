//! How an instant is written in a record, and how it becomes `yyyymmddhhmmss`.

use std::sync::Arc;

/// A way to write instants. Fractions of a second are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    form: Form,
    /// For instants that say how far they are from UTC: from which second since 1970 on the clock is so many seconds ahead of it.
    zone: Arc<[(i64, i64)]>,
    /// Instants are wanted on the clock of UTC, not on that of the zone, up to this one.
    utc_until: Option<[u8; 14]>,
}

/// The first instant that a TIMESTAMP holds.
const FIRST: &[u8] = b"19700101000001";

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    /// A number of units since 1970, of which a second has so many.
    Epoch(i64),
    /// ISO 8601, with or without a zone: `2026-11-30T14:05:59.25+01:00`.
    Iso,
    Items(Vec<Item>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    /// Digits, as many; a single letter stands for one or two of them.
    Number(Part, usize),
    /// `AM` or `PM`.
    Half,
    /// `Jan` to `Dec`.
    MonthName,
    Byte(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
}

const MONTHS: [&[u8; 3]; 12] =
    [b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec"];

impl Pattern {
    /// From `epoch`, `epoch_ms`, `iso`, or letters as in `dd/mm/yy hh:mmAM`, where `mm` behind `hh` is the minute and `mon` a month's
    /// name. `zone` has the first second since 1970 of each of its offsets from UTC, in seconds; `None` for a pattern that there is not.
    pub fn parse(text: &str, zone: Arc<[(i64, i64)]>) -> Option<Self> {
        let form = match text {
            "epoch" => Form::Epoch(1),
            "epoch_ms" => Form::Epoch(1_000),
            "iso" => Form::Iso,
            text => Form::Items(items(text.as_bytes())?),
        };
        Some(Self { form, zone, utc_until: None })
    }

    /// The same for a TIMESTAMP, which holds instants up to one.
    pub fn in_utc(self, until: [u8; 14]) -> Self {
        Self { utc_until: Some(until), ..self }
    }

    /// Whether a TIMESTAMP is wanted and does not hold this instant.
    pub(super) fn is_outside(&self, instant: &[u8]) -> bool {
        self.utc_until.is_some_and(|until| instant < FIRST || instant > &until[..])
    }

    /// Whether it has more than a day.
    pub fn has_time(&self) -> bool {
        let is_hour = |item: &Item| matches!(item, Item::Number(Part::Hour, _));
        !matches!(&self.form, Form::Items(items) if !items.iter().any(is_hour))
    }

    /// Whether a value says that there is no instant: zero seconds since 1970, as of a call that was never answered.
    pub(super) fn is_none(&self, value: &[u8]) -> bool {
        matches!(self.form, Form::Epoch(_)) && !value.is_empty() && value.iter().all(|byte| *byte == b'0')
    }

    /// `yyyymmddhhmmss` on the clock of the zone, or `yyyymmdd` of a pattern without a time; `None` where the value is not of this form.
    pub fn instant(&self, value: &[u8]) -> Option<Vec<u8>> {
        match &self.form {
            Form::Epoch(units) => {
                let point =
                    value.iter().position(|byte| *byte == b'.').filter(|at| is_digits(&value[at + 1..]));
                Some(self.local(number(&value[..point.unwrap_or(value.len())])? / units))
            }
            Form::Iso => self.iso(value),
            Form::Items(items) => self.clock(read(items, value)?),
        }
    }

    fn local(&self, seconds: i64) -> Vec<u8> {
        let ahead = if self.utc_until.is_some() { 0 } else { self.ahead(seconds) };
        Instant::of(seconds.saturating_add(ahead)).text()
    }

    fn ahead(&self, seconds: i64) -> i64 {
        let after = self.zone.partition_point(|(from, _)| *from <= seconds);
        after.checked_sub(1).map_or(0, |index| self.zone[index].1)
    }

    /// An instant that was read on the zone's clock: in the hour that autumn doubles the first one, in the one that spring leaves out none.
    fn clock(&self, found: Instant) -> Option<Vec<u8>> {
        let text = found.text();
        if self.utc_until.is_none() || !is_time(&text) {
            return Some(text);
        }
        let (local, day) = (found.seconds(), 86_400);
        let mut instants = [local - day, local + day].map(|near| local - self.ahead(near)).into_iter();
        instants.find(|utc| utc + self.ahead(*utc) == local).map(|utc| Instant::of(utc).text())
    }

    fn iso(&self, value: &[u8]) -> Option<Vec<u8>> {
        let (head, tail) = value.split_at_checked(19).unwrap_or((value, b""));
        let mut head = head.to_vec();
        if let Some(letter @ (b'T' | b't')) = head.get_mut(10) {
            *letter = b' ';
        }
        let Some(found) = read(&items(b"yyyy-mm-dd hh:mm:ss")?, &head) else {
            return self.clock(read(&items(b"yyyy-mm-dd")?, value)?);
        };
        let digits = tail.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
        let zone = if tail.first() == Some(&b'.') { tail.get(1 + digits..)? } else { tail };
        let ahead = match zone {
            b"" => return self.clock(found),
            b"Z" | b"z" => 0,
            [sign @ (b'+' | b'-'), hours @ ..] => {
                let parts =
                    [&b"hh:mm"[..], b"hhmm", b"hh"].iter().find_map(|form| read(&items(form)?, hours))?;
                let seconds = 3_600 * parts.hour + 60 * parts.minute;
                if *sign == b'-' { -seconds } else { seconds }
            }
            _ => return None,
        };
        // What the calendar has not must not become what it has.
        is_time(&found.text()).then(|| self.local(found.seconds() - ahead))
    }
}

fn items(text: &[u8]) -> Option<Vec<Item>> {
    let (mut items, mut at) = (Vec::new(), 0);
    while let Some(byte) = text.get(at) {
        let rest = text[at..].to_ascii_lowercase();
        let run = rest.iter().take_while(|other| **other == rest[0]).count();
        let is_behind_hour = items.iter().any(|item| matches!(item, Item::Number(Part::Hour, _)));
        let (item, length) = match rest[0] {
            b'm' if rest.starts_with(b"mon") => (Item::MonthName, 3),
            b'a' if rest.starts_with(b"am") => (Item::Half, 2),
            b'y' if run == 2 || run == 4 => (Item::Number(Part::Year, run), run),
            b'm' if run <= 2 && is_behind_hour => (Item::Number(Part::Minute, run), run),
            b'm' if run <= 2 => (Item::Number(Part::Month, run), run),
            b'd' if run <= 2 => (Item::Number(Part::Day, run), run),
            b'h' if run <= 2 => (Item::Number(Part::Hour, run), run),
            b's' if run <= 2 => (Item::Number(Part::Second, run), run),
            b't' => (Item::Byte(*byte), 1),
            other if other.is_ascii_alphanumeric() => return None,
            _ => (Item::Byte(*byte), 1),
        };
        items.push(item);
        at += length;
    }
    (!items.is_empty()).then_some(items)
}

#[derive(Clone, Copy, Debug, Default)]
struct Instant {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    has_time: bool,
}

fn read(items: &[Item], mut value: &[u8]) -> Option<Instant> {
    let (mut found, mut half) = (Instant::default(), None);
    for item in items {
        let length = match item {
            Item::Byte(byte) => usize::from(value.first()? == byte),
            Item::Half => {
                half = Some(match value.get(..2)?.to_ascii_lowercase().as_slice() {
                    b"am" => 0,
                    b"pm" => 12,
                    _ => return None,
                });
                2
            }
            Item::MonthName => {
                let name = value.get(..3)?.to_ascii_lowercase();
                found.month = 1 + MONTHS.iter().position(|month| name == **month)? as i64;
                3
            }
            Item::Number(part, width) => {
                let digits =
                    value.iter().take(2.max(*width)).take_while(|byte| byte.is_ascii_digit()).count();
                let length = if *width == 1 { digits } else { *width };
                found.put(*part, number(value.get(..length)?)?, *width);
                length
            }
        };
        if length == 0 {
            return None;
        }
        value = &value[length..];
    }
    if let Some(half) = half {
        found.hour = (1..=12).contains(&found.hour).then_some(found.hour % 12 + half)?;
    }
    value.is_empty().then_some(found)
}

fn number(digits: &[u8]) -> Option<i64> {
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()
}

impl Instant {
    fn put(&mut self, part: Part, number: i64, width: usize) {
        match part {
            Part::Year if width == 2 => self.year = number + if number < 70 { 2_000 } else { 1_900 },
            Part::Year => self.year = number,
            Part::Month => self.month = number,
            Part::Day => self.day = number,
            Part::Hour => (self.hour, self.has_time) = (number, true),
            Part::Minute => self.minute = number,
            Part::Second => self.second = number,
        }
    }

    /// What the calendar has not is seen by who judges it.
    fn text(&self) -> Vec<u8> {
        let Self { year, month, day, hour, minute, second, has_time } = self;
        match has_time {
            true => format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}").into_bytes(),
            false => format!("{year:04}{month:02}{day:02}").into_bytes(),
        }
    }

    /// Seconds since 1970, of days of the Gregorian calendar from March on.
    fn seconds(&self) -> i64 {
        let year = self.year - i64::from(self.month <= 2);
        let day_of_year = (153 * (self.month + if self.month > 2 { -3 } else { 9 }) + 2) / 5 + self.day - 1;
        let days =
            365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year
                - 719_468;
        86_400 * days + 3_600 * self.hour + 60 * self.minute + self.second
    }

    fn of(seconds: i64) -> Self {
        let (days, clock) = (seconds.div_euclid(86_400) + 719_468, seconds.rem_euclid(86_400));
        let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        Self {
            year: 400 * era + year_of_era + i64::from(month <= 2),
            month,
            day: day_of_year - (153 * from_march + 2) / 5 + 1,
            hour: clock / 3_600,
            minute: clock / 60 % 60,
            second: clock % 60,
            has_time: true,
        }
    }
}

/// Without a branch for each byte, so that the compiler takes many at once.
pub(super) fn is_digits(value: &[u8]) -> bool {
    !value.is_empty() && value.iter().fold(0, |most: u8, byte| most.max(byte.wrapping_sub(b'0'))) <= 9
}

/// Whether this is `yyyymmdd` or `yyyymmddhhmmss` of the Gregorian calendar, from the year 1000 on as the servers have it.
pub fn is_time(value: &[u8]) -> bool {
    if !(value.len() == 8 || value.len() == 14) || !is_digits(value) {
        return false;
    }
    let number = |from: usize, to: usize| {
        value[from..to].iter().fold(0_u32, |sum, digit| 10 * sum + u32::from(digit - b'0'))
    };
    let (year, month, day) = (number(0, 4), number(4, 6), number(6, 8));
    let clock = value.len() == 8 || (number(8, 10) < 24 && number(10, 12) < 60 && number(12, 14) < 60);
    year >= 1000 && (1..=12).contains(&month) && (1..=days(year, month)).contains(&day) && clock
}

fn days(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn instant(pattern: &str, value: &str) -> Option<String> {
        // Berlin in autumn 2026: summer time ends on 25 October at 01:00 UTC.
        let zone = [(0, 3_600), (1_774_746_000, 7_200), (1_792_890_000, 3_600)];
        let pattern = Pattern::parse(pattern, zone.into()).expect("a pattern");
        pattern.instant(value.as_bytes()).map(|text| String::from_utf8(text).expect("digits"))
    }

    #[test]
    fn instants_are_read_by_their_pattern() {
        for (pattern, value, expected) in [
            ("dd/mm/yy hh:mmAM", "30/11/26 02:05PM", "20261130140500"),
            ("dd/mm/yy hh:mmAM", "30/11/26 12:05am", "20261130000500"),
            ("d.m.yyyy h:mm:ss", "3.1.2026 7:05:09", "20260103070509"),
            ("mon dd yyyy hh:mm:ss", "Nov 30 2026 14:05:59", "20261130140559"),
            ("yyyy-mm-dd", "1999-12-31", "19991231"),
            ("yymmddhhmmss", "990102030405", "19990102030405"),
            ("iso", "2026-11-30T14:05:59", "20261130140559"),
            ("iso", "2026-11-30 14:05:59.123Z", "20261130150559"),
            ("iso", "2026-07-01T00:30:00+05:30", "20260630210000"),
            ("iso", "2026-11-30", "20261130"),
            ("epoch", "1796047200", "20261130150000"),
            ("epoch", "1796047200.75", "20261130150000"),
            ("epoch_ms", "1796047200999", "20261130150000"),
            // The hour that autumn doubles.
            ("epoch", "1792888200", "20261025023000"),
            ("epoch", "1792891800", "20261025023000"),
        ] {
            assert_eq!(instant(pattern, value).as_deref(), Some(expected), "{pattern} {value}");
        }
    }

    #[test]
    fn a_timestamp_is_the_instant_in_utc_also_around_the_hours_of_summer_time() {
        let zone = [(0, 3_600), (1_774_746_000, 7_200), (1_792_890_000, 3_600)];
        for (pattern, value, expected) in [
            ("epoch", "1792888200", Some("20261025003000")),
            ("epoch", "1792891800", Some("20261025013000")),
            ("iso", "2026-10-25T02:30:00+01:00", Some("20261025013000")),
            ("iso", "2026-10-25 02:30:00", Some("20261025003000")),
            ("iso", "2026-10-25 03:00:00", Some("20261025020000")),
            ("iso", "2026-03-29 02:30:00", None),
            ("yyyymmddhhmmss", "20260329030000", Some("20260329010000")),
            ("yyyymmddhhmmss", "20260230030000", Some("20260230030000")),
        ] {
            let pattern = Pattern::parse(pattern, zone.into()).expect("a pattern").in_utc(*b"20380119031407");
            let found = pattern.instant(value.as_bytes());
            assert_eq!(found.as_deref(), expected.map(str::as_bytes), "{value}");
            assert!(found.is_none_or(|found| !pattern.is_outside(&found)));
            assert!(pattern.is_outside(b"20380119031408") && pattern.is_outside(b"19700101000000"));
        }
    }

    #[test]
    fn what_is_not_of_the_pattern_is_no_instant() {
        for (pattern, value) in [
            ("dd/mm/yy hh:mmAM", "30/11/26 13:05PM"),
            ("dd/mm/yy hh:mmAM", "30/11/26 02:05"),
            ("dd/mm/yy", "30/11/26 "),
            ("dd/mm/yy", "30-11-26"),
            ("iso", "2026-11-30T14:05:59+1"),
            ("iso", "2026-13-30T14:05:59Z"),
            ("epoch", "-5"),
            ("epoch", "1796047200."),
            ("epoch", "99999999999999999999"),
            ("mon dd", "Foo 30"),
        ] {
            assert_eq!(instant(pattern, value), None, "{pattern} {value}");
        }
        for pattern in ["", "dd/mm/yyy", "quux", "hhh"] {
            assert!(Pattern::parse(pattern, [].into()).is_none(), "{pattern}");
        }
    }

    proptest! {
        #[test]
        fn seconds_are_those_of_the_calendar(seconds in 0_i64..10_000_000_000) {
            prop_assert_eq!(Instant::of(seconds).seconds(), seconds);
        }

        #[test]
        fn no_value_is_too_strange(value in prop::collection::vec(any::<u8>(), 0..30)) {
            for pattern in ["epoch", "iso", "d/m/yy h:mmAM", "mon dd yyyy"] {
                Pattern::parse(pattern, [].into()).unwrap().instant(&value);
            }
        }
    }
}
