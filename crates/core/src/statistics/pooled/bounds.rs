/// An interval, or the lower end alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bounds {
    /// The 95 % interval.
    TwoSided { low: f64, high: f64 },
    /// It is at least this (99 %), and nothing can be said about how much more.
    AtLeast(f64),
    /// One run alone says nothing about its error.
    None,
}

impl Bounds {
    pub fn low(&self) -> Option<f64> {
        match *self {
            Self::TwoSided { low, .. } | Self::AtLeast(low) => Some(low),
            Self::None => None,
        }
    }

    pub fn high(&self) -> Option<f64> {
        match *self {
            Self::TwoSided { high, .. } => Some(high),
            Self::AtLeast(_) | Self::None => None,
        }
    }

    pub(super) fn scaled(self, factor: f64) -> Self {
        match self {
            Self::TwoSided { low, high } => Self::TwoSided { low: low * factor, high: high * factor },
            Self::AtLeast(low) => Self::AtLeast(low * factor),
            Self::None => Self::None,
        }
    }
}
