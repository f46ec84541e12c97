use super::evidence::Tally;
use super::grid::Offset;
use super::refused::Prior;
use crate::control::Hint;

#[derive(Clone, Copy, Debug)]
pub struct Probe {
    pub offset: Offset,
    pub to: u32,
    pub hint: Hint,
    pub began: f64,
    /// What was seen at the limit in use, lately before the test and in its halves.
    pub in_use: Tally,
    pub tried: Tally,
    /// What an earlier test of the same two limits measured.
    pub prior: Option<Prior>,
    /// Whether the limit tried is in force in this half, and not the one in use.
    pub trying: bool,
    pub half: Tally,
    pub halves: u32,
    /// Seconds in which the limit tried was not filled though the clients were there.
    pub unfilled_s: f64,
    /// Seconds since the clients went away; 0 while they are here.
    pub gone_s: f64,
}

impl Probe {
    /// The test as it goes on once there are clients again: with a half of the limit in use.
    pub fn suspended(self) -> Self {
        let halves = self.halves + u32::from(self.trying);
        Self { trying: false, half: Tally::default(), halves, ..self }
    }

    /// Mean length in seconds of the stretches that make up the tally of the limit in use and that of the limit tried. The
    /// first half is of the limit tried; what was seen at the limit in use before counts as a stretch of its own.
    pub fn stretches_s(&self) -> (f64, f64) {
        let (tried, in_use) = (self.halves.div_ceil(2), self.halves / 2 + 1);
        (self.in_use.seconds / f64::from(in_use), self.tried.seconds / f64::from(tried.max(1)))
    }
}
