//! What is to be dispatched, and how.

use super::{By, DispatchError};
use crate::table::{folded, quoted};
use evenkeel_site::server::{Control, TargetError};
use std::fmt;

#[derive(Clone, Debug)]
pub struct Job {
    pub table: String,
    pub by: String,
    pub names: NamePattern,
    /// Records that one transaction moves, about.
    pub batch: u64,
    /// Whether the records are held against what was there before, once all are moved.
    pub audit: bool,
    /// Days beyond which the dates are doubted.
    pub days_max: usize,
}

impl Job {
    /// The same with the names by which the server knows its tables.
    pub(super) fn folded(&self, control: &mut Control) -> Result<Self, TargetError> {
        let (table, names) = (folded(control, &self.table)?, self.names.folded(control)?);
        Ok(Self { table, names, ..self.clone() })
    }
}

const DAY: &str = "{day}";
const TABLE: &str = "{table}";
const LONGEST: usize = 64;
/// `TO_DAYS('1970-01-01')`, by which the server counts days.
const EPOCH: i64 = 719_528;

/// A day that the calendar has, from the year 1000 on, as servers store them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day {
    year: i64,
    month: i64,
    day: i64,
}

impl Day {
    /// Reads `yyyymmdd` or `yyyy-mm-dd`; `None` of all else, and of days that no calendar has.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = match text.len() {
            10 if text.is_ascii() && &text[4..5] == "-" && &text[7..8] == "-" => text.replace('-', ""),
            _ => text.to_owned(),
        };
        if digits.len() != 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let number = |from: usize, to: usize| digits[from..to].parse().ok();
        let day = Self { year: number(0, 4)?, month: number(4, 6)?, day: number(6, 8)? };
        (day.year >= 1000 && Self::of_number(day.number()) == day).then_some(day)
    }

    /// Its number, as `TO_DAYS` of servers counts.
    pub fn number(self) -> i64 {
        let year = self.year - i64::from(self.month <= 2);
        let month = (self.month + 9) % 12;
        let of_year = (153 * month + 2) / 5 + self.day - 1;
        365 * year + year / 4 - year / 100 + year / 400 + of_year - 719_468 + EPOCH
    }

    pub fn of_number(number: i64) -> Self {
        let days = number - EPOCH + 719_468;
        let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        Self { year: year + era * 400 + i64::from(month <= 2), month, day }
    }

    /// Eight digits, `yyyymmdd`, as in names of tables.
    pub fn compact(self) -> String {
        format!("{:04}{:02}{:02}", self.year, self.month, self.day)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl serde::Serialize for Day {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// How day tables are called: what stands before the day, and behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern {
    before: String,
    behind: String,
}

impl NamePattern {
    /// The same for a server that knows tables by small letters.
    pub(super) fn folded(&self, control: &mut Control) -> Result<Self, TargetError> {
        Ok(Self { before: folded(control, &self.before)?, behind: folded(control, &self.behind)? })
    }

    /// Reads a pattern as `{table}_{day}`, for the day tables of this source.
    pub fn parse(text: &str, source: &str) -> Result<Self, DispatchError> {
        let wrong = |why| DispatchError::Pattern { pattern: text.to_owned(), why };
        let (before, behind) = text.split_once(DAY).ok_or_else(|| wrong("it has no {day}"))?;
        if behind.contains(DAY) {
            return Err(wrong("it has more than one {day}"));
        }
        let pattern = Self { before: before.replace(TABLE, source), behind: behind.replace(TABLE, source) };
        let odd = |letter: char| letter.is_control() || letter > '\u{ffff}';
        let name = format!("{}20260801{}", pattern.before, pattern.behind);
        if name.chars().count() > LONGEST {
            return Err(wrong("the name would have more than 64 characters"));
        }
        if name.ends_with(' ') || name.chars().any(odd) || name.contains(['{', '}']) {
            return Err(wrong("no table can have such a name"));
        }
        if pattern.before.starts_with("evenkeel_") {
            return Err(wrong("names that begin with evenkeel_ are our own"));
        }
        Ok(pattern)
    }

    pub fn table(&self, day: Day) -> String {
        format!("{}{}{}", self.before, day.compact(), self.behind)
    }

    /// The day whose table this is; `None` of tables that are called otherwise.
    pub fn day(&self, table: &str) -> Option<Day> {
        let day = table.strip_prefix(&self.before)?.strip_suffix(&self.behind)?;
        Day::parse(day).filter(|_| day.len() == 8)
    }
}

const DAY_S: u64 = 86_400;
/// Parts of a day at most: one a minute.
const PARTS_MAX: u64 = 1_440;

/// From the first of these instants to the last, both included, as the server reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Which(String, String);

impl Which {
    pub fn of(day: Day, by: &By) -> Self {
        match by.is_instant {
            true => Self::part(day, 0, DAY_S),
            false => Self(day.to_string(), day.to_string()),
        }
    }

    /// The same in parts of about so many records, where an index leads to each of them.
    pub fn parts(day: Day, by: &By, records: u64, batch: u64) -> Vec<Self> {
        if !by.is_instant || !by.is_indexed {
            return vec![Self::of(day, by)];
        }
        let count = records.div_ceil(batch.max(1)).clamp(1, PARTS_MAX);
        let at = |part: u64| part * DAY_S / count;
        (0..count).map(|part| Self::part(day, at(part), at(part + 1))).collect()
    }

    /// From a second of the day to the last instant before another one. A range of days that ends before the next day would
    /// hold impossible ones, as the 30th of February, too.
    fn part(day: Day, from: u64, until: u64) -> Self {
        let time = |second: u64| format!("{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60);
        Self(format!("{day} {}", time(from)), format!("{day} {}.999999", time(until - 1)))
    }

    pub fn sql(&self, by: &By) -> String {
        format!("{} BETWEEN '{}' AND '{}'", quoted(&by.column), self.0, self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_count_as_servers_count_them() {
        for (text, number) in [("2026-08-01", 740_194), ("19700101", 719_528), ("20240229", 739_310)] {
            let day = Day::parse(text).unwrap();
            assert_eq!((day.number(), Day::of_number(number)), (number, day), "{text}");
        }
        for text in ["20260230", "2026-00-00", "0000-00-00", "20260801x", "2026081", "２０２６"] {
            assert_eq!(Day::parse(text), None, "{text}");
        }
        assert_eq!(Day::of_number(Day::parse("20260301").unwrap().number() - 1).to_string(), "2026-02-28");
    }

    #[test]
    fn a_pattern_names_tables_and_knows_them_again() {
        let pattern = NamePattern::parse("{table}_{day}", "calls").unwrap();
        let day = Day::parse("20260801").unwrap();
        assert_eq!(pattern.table(day), "calls_20260801");
        assert_eq!(pattern.day("calls_20260801"), Some(day));
        for other in ["calls", "calls_20260230", "calls_2026-08-01", "calls_20260801_old", "x_20260801"] {
            assert_eq!(pattern.day(other), None, "{other}");
        }
        for wrong in ["{table}", "{day}_{day}", "{tabel}_{day}", "a\n{day}", "evenkeel_{day}"] {
            assert!(NamePattern::parse(wrong, "calls").is_err(), "{wrong}");
        }
        assert!(NamePattern::parse("{table}_{day}", &"x".repeat(60)).is_err());
    }

    #[test]
    fn parts_of_a_day_leave_no_instant_out_and_have_none_twice() {
        let by = By { column: "t".to_owned(), is_instant: true, is_indexed: true };
        let day = Day::parse("20260801").unwrap();
        let parts = Which::parts(day, &by, 7, 2);
        let expected = [("00:00:00", "05:59:59"), ("06:00:00", "11:59:59"), ("12:00:00", "17:59:59")];
        for (part, (first, last)) in parts.iter().zip(expected) {
            let (first, last) = (format!("2026-08-01 {first}"), format!("2026-08-01 {last}.999999"));
            assert_eq!(*part, Which(first, last));
        }
        assert_eq!(parts.len(), 4);
        assert_eq!(Which::parts(day, &by, u64::MAX, 1).len(), 1_440);
        assert_eq!(Which::parts(day, &By { is_indexed: false, ..by.clone() }, 7, 2).len(), 1);
        let date = By { is_instant: false, ..by };
        assert_eq!(Which::parts(day, &date, 7, 2), [Which::of(day, &date)]);
        assert_eq!(Which::of(day, &date).sql(&date), "`t` BETWEEN '2026-08-01' AND '2026-08-01'");
    }
}
