#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offset {
    /// A tenth more, at least 1.
    Up,
    /// A tenth less, at least 1.
    Down,
    /// A third more.
    FarUp,
    /// A quarter less.
    FarDown,
    Double,
    Half,
    Quarter,
    Sixteenth,
    /// A single one: off a shelf however long.
    Single,
}

impl Offset {
    /// All of them, in the order in which they are tried where nothing speaks for another one.
    pub const ALL: [Self; 9] = [
        Self::Double,
        Self::Quarter,
        Self::Half,
        Self::Sixteenth,
        Self::FarUp,
        Self::FarDown,
        Self::Up,
        Self::Down,
        Self::Single,
    ];

    /// The limit that it leads to, within `1..=most`; `None` where a finer offset leads as far.
    pub fn from(self, limit: u32, most: u32) -> Option<u32> {
        let to = self.lead(limit).clamp(1, most);
        let finer = self.finer().map_or(limit, |finer| finer.lead(limit).clamp(1, most));
        (to != limit && to != finer).then_some(to)
    }

    /// The limit that it leads to, before that is held within any bounds.
    fn lead(self, limit: u32) -> u32 {
        let share = |share: f64| (f64::from(limit) * share).round().max(1.0) as u32;
        match self {
            Self::Up => limit.saturating_add(share(0.1)),
            Self::Down => limit.saturating_sub(share(0.1)),
            Self::FarUp => limit.saturating_add(share(0.33)),
            Self::FarDown => limit.saturating_sub(share(0.25)),
            Self::Double => limit.saturating_mul(2),
            Self::Half => limit / 2,
            Self::Quarter => limit / 4,
            Self::Sixteenth => limit / 16,
            Self::Single => 1,
        }
    }

    /// The offset whose step is about that from one limit to another.
    pub fn toward(limit: u32, to: u32) -> Self {
        let ratio = f64::from(to) / f64::from(limit);
        match ratio {
            _ if ratio >= 1.6 => Self::Double,
            _ if ratio > 1.0 => Self::FarUp,
            _ if ratio > 0.6 => Self::FarDown,
            _ if ratio > 0.35 => Self::Half,
            _ if ratio > 0.1 => Self::Quarter,
            _ => Self::Sixteenth,
        }
    }

    fn finer(self) -> Option<Self> {
        match self {
            Self::Up | Self::Down => None,
            Self::FarUp => Some(Self::Up),
            Self::FarDown => Some(Self::Down),
            Self::Double => Some(Self::FarUp),
            Self::Half => Some(Self::FarDown),
            Self::Quarter => Some(Self::Half),
            Self::Sixteenth => Some(Self::Quarter),
            Self::Single => Some(Self::Sixteenth),
        }
    }

    /// The next longer step the same way, for when a step was good. Upwards it at most doubles the limit: where memory runs
    /// out, a longer one could kill the server.
    pub fn longer(self) -> Self {
        match self {
            Self::Up => Self::FarUp,
            Self::Down => Self::FarDown,
            Self::FarUp | Self::Double => Self::Double,
            Self::FarDown => Self::Half,
            Self::Half => Self::Quarter,
            Self::Quarter | Self::Sixteenth => Self::Sixteenth,
            Self::Single => Self::Single,
        }
    }

    /// How far a limit may be from the one that it leads to, as a logarithm, and still have the same verdict.
    pub fn close(self) -> f64 {
        match self {
            Self::Up | Self::Down => 0.05,
            Self::FarUp | Self::FarDown => 0.12,
            Self::Double | Self::Half => 0.3,
            Self::Quarter | Self::Sixteenth => 0.6,
            Self::Single => 0.5,
        }
    }

    pub fn is_far_down(self) -> bool {
        matches!(self, Self::Half | Self::Quarter | Self::Sixteenth | Self::Single)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(Offset::Up.from(u32::MAX, u32::MAX), None);
    }

    #[test]
    fn small_limits_are_left_by_single_steps() {
        for limit in 2..=14 {
            assert_eq!(Offset::Up.from(limit, 100), Some(limit + 1));
            assert_eq!(Offset::Down.from(limit, 100), Some(limit - 1));
        }
    }
}
