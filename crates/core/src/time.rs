use std::ops::{Add, AddAssign, Sub};

/// Nanoseconds: a duration, or an instant counted from the start of a phase.
///
/// 64 bits reach 584 years. Subtraction saturates at zero, because an instant before the start of
/// a phase is the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The start of a phase, or no time at all.
    pub const ZERO: Self = Self(0);
    /// The largest value; used as "never".
    pub const MAX: Self = Self(u64::MAX);

    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }

    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000_000_000)
    }

    /// From seconds; negative and not-a-number become zero, too large becomes [`Nanos::MAX`].
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * 1e9).round() as u64)
    }

    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Nanos {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl From<std::time::Duration> for Nanos {
    fn from(duration: std::time::Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for std::time::Duration {
    fn from(nanos: Nanos) -> Self {
        Self::from_nanos(nanos.0)
    }
}
