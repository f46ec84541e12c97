//! Which records: those of a day or of a part of it.

use super::{By, Day};
use crate::table::quoted;

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
