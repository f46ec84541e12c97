#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    Higher,
    Lower,
}

impl Better {
    pub(super) fn side(self, difference: f64) -> Side {
        if (difference > 0.0) == (self == Self::Higher) { Side::Better } else { Side::Worse }
    }
}

/// On which side of the first the second certainly lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Better,
    Worse,
}
