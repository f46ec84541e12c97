//! A published factor beside ours: the direction of a finding may hold where its size does not.

use crate::format;
use evenkeel_core::statistics::Ratio;

/// How many times as long one way took as another one when it was published.
#[derive(Clone, Copy)]
pub(super) struct Published {
    pub factor: f64,
    /// Whether it was published as "more than that", so that a larger factor agrees with it.
    pub at_least: bool,
}

/// More than 24 h beside 12 h 32 min.
pub(super) const UNTUNED: Published = Published { factor: 1_440.0 / 752.0, at_least: true };
/// 149 min beside 51 min and less than 28 min.
pub(super) const INNODB_OVER_MYISAM: Published = Published { factor: 149.0 / 79.0, at_least: true };
/// 15 h 20 min beside 12 h.
pub(super) const SEPARATORS: Published = Published { factor: 920.0 / 720.0, at_least: false };

impl Published {
    /// Whether it lies within the interval of ours; not known without one, and not where the interval is so wide that it has 1 and the
    /// published factor in it: that would agree with no difference at all.
    pub fn within(self, ours: Option<&Ratio>) -> Option<bool> {
        let (low, high) = ours?.interval?;
        if low <= 1.0 && self.factor <= high {
            return None;
        }
        Some(self.factor <= high && (self.at_least || self.factor >= low))
    }

    /// The same as a sentence.
    pub fn sentence(self, ours: Option<&Ratio>) -> String {
        let least = if self.at_least { "at least " } else { "" };
        let agrees = match self.within(ours) {
            Some(true) if self.at_least => "our interval allows that",
            Some(true) => "our interval includes that",
            Some(false) => "our interval does not reach that",
            None => "these runs cannot show whether ours is the same",
        };
        format!(" Published is {least}{} times; {agrees}.", format::short(self.factor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours(low: f64, high: f64) -> Ratio {
        Ratio { n: 3, ratio: f64::midpoint(low, high), interval: Some((low, high)) }
    }

    #[test]
    fn a_factor_is_within_where_the_interval_has_it_and_one_that_is_a_bound_also_below_the_interval() {
        for (published, low, high, within) in [
            (SEPARATORS, 1.1, 1.4, true),
            (SEPARATORS, 1.3, 1.4, false),
            (SEPARATORS, 1.05, 1.2, false),
            (UNTUNED, 2.0, 3.0, true),
            (UNTUNED, 1.5, 1.95, true),
            (UNTUNED, 1.2, 1.5, false),
        ] {
            assert_eq!(published.within(Some(&ours(low, high))), Some(within), "{low} to {high}");
        }
        assert_eq!(SEPARATORS.within(None), None);
        assert_eq!(SEPARATORS.within(Some(&ours(0.4, 2.0))), None, "it has no difference in it too");
        assert_eq!(UNTUNED.within(Some(&ours(0.9, 1.1))), Some(false), "no difference, and so not twice");
        let said = UNTUNED.sentence(Some(&ours(1.2, 1.5)));
        assert_eq!(said, " Published is at least 1.91 times; our interval does not reach that.");
    }
}
