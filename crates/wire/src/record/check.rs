//! Whether a value is what its field may hold.

use super::pattern::{is_digits, is_time};
use super::{Check, Field, Kind, What};
use std::borrow::Cow;

impl Field {
    /// Judges a trimmed value that is not empty.
    pub(super) fn judge(&self, value: &[u8]) -> Result<(), What> {
        match self.kind {
            Kind::Text => {}
            Kind::Integer | Kind::Scaled(_) if !is_digits(unsigned(value)) => return Err(What::Integer),
            Kind::Decimal if !is_decimal(unsigned(value)) => return Err(What::Decimal),
            Kind::Time if !is_time(value) => return Err(What::Time),
            Kind::Integer | Kind::Scaled(_) | Kind::Decimal | Kind::Time => {}
        }
        match &self.check {
            Check::None => Ok(()),
            Check::Within(least, most) => match whole(value) {
                Some(number) if (self.kind.units(*least)..=self.kind.units(*most)).contains(&number) => {
                    Ok(())
                }
                _ => Err(What::Bounds),
            },
            Check::OneOf(values) if values.iter().any(|each| each == value) => Ok(()),
            Check::OneOf(_) => Err(What::NotListed),
        }
    }
}

impl Kind {
    /// A bound in units of the last digit that a record has.
    fn units(self, bound: i64) -> i64 {
        let Self::Scaled(scale) = self else { return bound };
        bound.saturating_mul(10_i64.saturating_pow(scale))
    }

    /// A value that was judged, with the point that it does without in the record.
    pub(super) fn pointed(self, value: &[u8]) -> Cow<'_, [u8]> {
        let Self::Scaled(scale) = self else { return Cow::Borrowed(value) };
        let (sign, digits) = value.split_at(value.len() - unsigned(value).len());
        let missing = (scale as usize + 1).saturating_sub(digits.len());
        let mut out = [sign, &b"0".repeat(missing)[..], digits].concat();
        out.insert(out.len() - scale as usize, b'.');
        Cow::Owned(out)
    }
}

fn unsigned(value: &[u8]) -> &[u8] {
    value.strip_prefix(b"-").or_else(|| value.strip_prefix(b"+")).unwrap_or(value)
}

fn is_decimal(value: &[u8]) -> bool {
    match value.iter().position(|byte| *byte == b'.') {
        None => is_digits(value),
        Some(point) => {
            let (before, after) = (&value[..point], &value[point + 1..]);
            let fits = |part: &[u8]| part.is_empty() || is_digits(part);
            fits(before) && fits(after) && value.len() > 1
        }
    }
}

/// The part of a number before the point; `None` where it is none, or more than 64 bits.
fn whole(value: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(value.split(|byte| *byte == b'.').next()?).ok()?;
    match text {
        "" | "-" | "+" => Some(0),
        _ => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(kind: Kind, check: Check) -> Field {
        Field { kind, check, ..Field::text("a", 0, 20) }
    }

    #[test]
    fn numbers_have_a_sign_or_none_and_a_point_at_most_once_and_times_are_in_the_calendar() {
        for (kind, good, bad) in [
            (Kind::Integer, "0 -12 +7", "- 1.0 1-"),
            (Kind::Decimal, "1 -1.5 .5 5.", ". 1.2.3 1,2"),
            (
                Kind::Time,
                "20260228235959 20240229 20000229000000 99991231",
                "20260229 19000229 20261301 20260001 20260100 20260101240000 20260101006000 2026010100006 2026-1-1 00000000",
            ),
        ] {
            let field = field(kind, Check::None);
            let fits = |value: &str| field.judge(value.as_bytes()).is_ok();
            assert!(good.split(' ').all(fits), "{good}");
            assert!(!bad.split(' ').any(fits), "{bad}");
        }
    }

    #[test]
    fn bounds_are_included_and_a_number_beyond_all_bounds_lies_outside() {
        let duration = field(Kind::Integer, Check::Within(0, 14_400));
        for (value, fits) in
            [("0", true), ("14400", true), ("14401", false), ("-1", false), ("99999999999999999999", false)]
        {
            assert_eq!(duration.judge(value.as_bytes()).is_ok(), fits, "{value}");
        }
        let amount = field(Kind::Decimal, Check::Within(0, 9));
        assert!(
            amount.judge(b"9.75").is_ok() && amount.judge(b".5").is_ok() && amount.judge(b"10.0").is_err()
        );
    }

    #[test]
    fn a_decimal_without_a_point_gets_it_and_its_bounds_are_those_of_the_number() {
        for (value, pointed) in [("0003978", "00039.78"), ("5", "0.05"), ("-5", "-0.05"), ("12", "0.12")] {
            assert_eq!(&*Kind::Scaled(2).pointed(value.as_bytes()), pointed.as_bytes());
        }
        let amount = field(Kind::Scaled(2), Check::Within(0, 39));
        let judged = |value: &str| amount.judge(value.as_bytes());
        let expected = [Ok(()), Err(What::Bounds), Err(What::Integer)];
        assert_eq!(["3900", "3901", "39.00"].map(judged), expected);
    }

    #[test]
    fn a_listed_value_is_compared_byte_by_byte() {
        let cause = field(Kind::Text, Check::OneOf(vec![b"16".to_vec(), b"17".to_vec()]));
        assert_eq!((cause.judge(b"17"), cause.judge(b"017")), (Ok(()), Err(What::NotListed)));
    }
}
