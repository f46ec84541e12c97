//! The limits that are tried: whole numbers a quarter to a third apart.

/// The next limit upwards: 1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, ... (at least 1, about 30 % more).
pub fn above(limit: u32) -> u32 {
    limit.saturating_add((f64::from(limit) * 0.3).round().max(1.0) as u32)
}

/// The largest limit whose next one upwards is not below `limit`; 1 stays 1.
pub fn below(limit: u32) -> u32 {
    let guess = (f64::from(limit) / 1.3).floor() as u32;
    (guess.saturating_sub(1)..limit).find(|&lower| lower >= 1 && above(lower) >= limit).unwrap_or(1)
}

/// Where a probe goes from the limit in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offset {
    /// The next limit upwards.
    Up,
    /// The next limit downwards.
    Down,
    /// Twice as many.
    Double,
    /// Half as many.
    Half,
    /// A quarter.
    Quarter,
    /// A sixteenth.
    Sixteenth,
}

impl Offset {
    /// All, in the order in which they are tried where nothing else tells.
    pub const ALL: [Self; 6] =
        [Self::Sixteenth, Self::Double, Self::Quarter, Self::Half, Self::Up, Self::Down];

    /// The limit that it leads to, within `1..=most`; `None` where that is `limit` itself, or no farther than a
    /// finer offset goes.
    pub fn from(self, limit: u32, most: u32) -> Option<u32> {
        let to = match self {
            Self::Up => above(limit),
            Self::Down => below(limit),
            Self::Double => limit.saturating_mul(2),
            Self::Half => limit / 2,
            Self::Quarter => limit / 4,
            Self::Sixteenth => limit / 16,
        };
        let to = to.clamp(1, most);
        let finer = match self {
            Self::Up | Self::Down => limit,
            Self::Double => above(limit).min(most),
            Self::Half => below(limit),
            Self::Quarter => (limit / 2).max(1),
            Self::Sixteenth => (limit / 4).max(1),
        };
        (to != limit && to != finer).then_some(to)
    }

    /// Whether it leads upwards.
    pub fn is_up(self) -> bool {
        matches!(self, Self::Up | Self::Double)
    }

    /// Whether it leads down by half or more.
    pub fn is_far_down(self) -> bool {
        matches!(self, Self::Half | Self::Quarter | Self::Sixteenth)
    }

    /// The next larger step the same way, for galloping. Upwards it never more than doubles: a memory that breaks off
    /// does not forgive.
    pub fn longer(self) -> Self {
        match self {
            Self::Up | Self::Double => Self::Double,
            Self::Down => Self::Half,
            Self::Half => Self::Quarter,
            Self::Quarter | Self::Sixteenth => Self::Sixteenth,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_up_and_down_are_at_least_one_and_about_30_percent() {
        let mut limit = 1;
        let mut seen = vec![];
        while limit < 30 {
            seen.push(limit);
            limit = above(limit);
        }
        assert_eq!(seen, [1, 2, 3, 4, 5, 7, 9, 12, 16, 21, 27]);
        for limit in 2..2_000 {
            let lower = below(limit);
            assert!(lower < limit && above(lower) >= limit, "{limit} -> {lower}");
            assert!(limit - lower <= 1 || f64::from(limit) / f64::from(lower) < 1.45, "{limit} -> {lower}");
        }
        assert_eq!(below(1), 1);
    }

    #[test]
    fn an_offset_that_leads_nowhere_new_is_none() {
        assert_eq!(Offset::Down.from(1, 100), None);
        assert_eq!(Offset::Double.from(1, 100), None);
        assert_eq!(Offset::Up.from(1, 100), Some(2));
        assert_eq!(Offset::Up.from(100, 100), None);
        assert_eq!(Offset::Half.from(4, 100), Some(2));
        assert_eq!(Offset::Quarter.from(4, 100), Some(1));
        assert_eq!(Offset::Sixteenth.from(4, 100), None);
        assert_eq!(Offset::Double.from(60, 100), Some(100));
    }
}
