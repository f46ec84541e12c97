//! Times, in the unit that suits them.

use super::digits::{ABSENT, significant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Millionths of a second.
    Microseconds,
    /// Thousandths of a second.
    Milliseconds,
    /// Seconds, for what takes longer than a thousand milliseconds.
    Seconds,
}

impl TimeUnit {
    /// The unit in which `ms` milliseconds read best; for a column or an axis pass the largest value.
    pub fn suiting(ms: f64) -> Self {
        match ms.abs() {
            // Just below a unit's edge, three digits would round up to 1000.
            size if size < 0.9995 && size > 0.0 => Self::Microseconds,
            size if size >= 9_999.5 => Self::Seconds,
            _ => Self::Milliseconds,
        }
    }

    /// `µs`, `ms` or `s`.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Microseconds => "µs",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
        }
    }

    /// How many of this unit a millisecond has.
    pub fn per_ms(self) -> f64 {
        match self {
            Self::Microseconds => 1e3,
            Self::Milliseconds => 1.0,
            Self::Seconds => 1e-3,
        }
    }
}

/// `820 µs`, `41.2 ms`, `18.4 s` from milliseconds.
pub fn time(ms: f64) -> String {
    if !ms.is_finite() {
        return ABSENT.to_owned();
    }
    let unit = TimeUnit::suiting(ms);
    format!("{} {}", significant(ms * unit.per_ms(), 3), unit.symbol())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_change_their_unit() {
        let cases = [
            (0.0, "0.00 ms"),
            (0.041_2, "41.2 µs"),
            (0.999_9, "1.00 ms"),
            (41.23, "41.2 ms"),
            (1_840.0, "1,840 ms"),
            (12_345.0, "12.3 s"),
            (f64::NAN, ABSENT),
        ];
        for (ms, text) in cases {
            assert_eq!(time(ms), text, "{ms}");
        }
    }
}
