//! Calendar dates as day numbers.

use std::fmt;
use std::str::FromStr;

/// A day of the Gregorian calendar, counted from 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(pub i32);

impl Date {
    /// The day with this year, month (1 to 12) and day (1 to 31). Days beyond the end of a month run on
    /// into the next. Algorithm: Howard Hinnant, "chrono-compatible low-level date algorithms",
    /// `days_from_civil`, in eras of 400 years that begin in March.
    pub const fn new(year: i32, month: u32, day: u32) -> Self {
        let year = if month <= 2 { year - 1 } else { year };
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let month_from_march = (month as i32 + 9) % 12;
        let day_of_year = (153 * month_from_march + 2) / 5 + day as i32 - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        Self(era * 146_097 + day_of_era - 719_468)
    }

    /// The day of an instant given in seconds since 1970, UTC.
    pub fn of_unix_time(seconds: u64) -> Self {
        Self(i32::try_from(seconds / 86_400).unwrap_or(i32::MAX))
    }

    fn read(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '-');
        let mut next = || parts.next()?.parse::<u16>().ok();
        let parts = (i32::from(next()?), u32::from(next()?), u32::from(next()?));
        let date = Self::new(parts.0, parts.1, parts.2);
        // A day that does not exist comes back as another one.
        (parts.0 <= 9_999 && date.parts() == parts).then_some(date)
    }

    pub fn plus(self, days: u64) -> Self {
        Self(self.0 + days as i32)
    }

    pub fn minus(self, days: u64) -> Self {
        Self(self.0 - days as i32)
    }

    /// Year, month and day (`civil_from_days` of the same source).
    pub fn parts(self) -> (i32, u32, u32) {
        let shifted = self.0 + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        (year_of_era + era * 400 + i32::from(month <= 2), month as u32, day as u32)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.parts();
        write!(formatter, "{year:04}-{month:02}-{day:02}")
    }
}

impl FromStr for Date {
    type Err = DateError;

    /// Reads a day as it is written in `2026-01-31`.
    fn from_str(text: &str) -> Result<Self, DateError> {
        Self::read(text).ok_or_else(|| DateError(text.to_owned()))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a date such as 2026-01-31")]
pub struct DateError(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_days_have_their_numbers() {
        for (text, number) in [
            ("1970-01-01", 0),
            ("1800-01-01", -62_091),
            ("2000-02-29", 11_016),
            ("2038-01-19", 24_855),
            ("1900-03-01", -25_508),
        ] {
            assert_eq!(text.parse(), Ok(Date(number)), "{text}");
            assert_eq!(Date(number).to_string(), text);
        }
    }

    #[test]
    fn every_day_of_four_centuries_survives_the_way_there_and_back() {
        for number in -70_000..80_000 {
            let (year, month, day) = Date(number).parts();
            assert_eq!(Date::new(year, month, day), Date(number));
        }
    }

    #[test]
    fn days_that_do_not_exist_are_refused() {
        for text in ["2025-02-29", "2025-13-01", "2025-00-10", "2025-04-31", "today", "2025-1", "99999-01-01"]
        {
            assert_eq!(text.parse::<Date>(), Err(DateError(text.to_owned())), "{text}");
        }
    }
}
