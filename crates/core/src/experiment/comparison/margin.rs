use std::fmt;

/// Up to which ratio two figures count as the same, 0.05 for 5 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margin(f64);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MarginError(pub f64);

impl fmt::Display for MarginError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "a margin of {} is not possible: above 0 and at most 1 is needed", self.0)
    }
}

impl std::error::Error for MarginError {}

impl Margin {
    pub fn new(share: f64) -> Result<Self, MarginError> {
        if share > 0.0 && share <= 1.0 { Ok(Self(share)) } else { Err(MarginError(share)) }
    }

    pub fn share(self) -> f64 {
        self.0
    }

    pub(super) fn log(self) -> f64 {
        self.0.ln_1p()
    }
}
