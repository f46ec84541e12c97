//! What figures of several rounds say.

/// Figures of the rounds.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Spread {
    /// The one in the middle.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
}

impl Spread {
    /// Of at least one figure; of none, not a number.
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
        let middle = values.len() / 2;
        let median = match values.len() % 2 {
            1 => at(middle),
            _ => (at(middle.saturating_sub(1)) + at(middle)) / 2.0,
        };
        Self { median, least: at(0), most: at(values.len().saturating_sub(1)) }
    }

    /// Whether rounds of both lie beside each other, so that no difference is seen.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.least <= other.most && other.least <= self.most
    }
}

/// What it takes to keep the records of some months.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Retention {
    /// Months.
    pub months: u32,
    /// Records that are kept.
    pub records: f64,
    /// Hours to load all of them.
    pub load_hours: f64,
    /// Gigabytes (10^9 bytes) that they take with their indexes.
    pub gigabytes: f64,
    /// What these cost a month; none where no price is known.
    pub cost_per_month: Option<f64>,
}

/// Days of a month in the mean.
const DAYS: f64 = 365.25 / 12.0;

/// For so many records a day, of which each takes so many seconds and bytes.
pub fn retention(months: u32, per_day: f64, (seconds, bytes): (f64, f64), price: Option<f64>) -> Retention {
    let records = per_day * DAYS * f64::from(months);
    let gigabytes = records * bytes / 1e9;
    Retention {
        months,
        records,
        load_hours: records * seconds / 3600.0,
        gigabytes,
        cost_per_month: price.map(|price| price * gigabytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_difference_is_seen_where_rounds_of_both_lie_beside_each_other() {
        let (fast, near, far) =
            (Spread::of(vec![3.0, 1.0, 2.0]), Spread::of(vec![3.0, 5.0, 4.0]), Spread::of(vec![3.1, 9.0]));
        assert_eq!((fast.median, fast.least, fast.most), (2.0, 1.0, 3.0));
        assert!(near.overlaps(&fast) && !far.overlaps(&fast));
        assert_eq!(far.median, 6.05);
    }

    #[test]
    fn months_of_records_take_time_space_and_money() {
        let kept = retention(3, 1e6, (1e-5, 200.0), Some(0.1));
        assert_eq!((kept.records, kept.gigabytes), (91_312_500.0, 18.2625));
        assert!(
            (kept.load_hours - 0.253_645).abs() < 1e-5
                && (kept.cost_per_month.unwrap() - 1.82625).abs() < 1e-9
        );
    }
}
