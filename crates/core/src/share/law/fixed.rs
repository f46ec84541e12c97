//! Always the same window: what a queue depth set by hand does.

use super::super::{Period, Report};
use super::window_law::WindowLaw;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fixed {
    window: f64,
}

impl Fixed {
    pub fn new(window: f64) -> Self {
        Self { window }
    }
}

impl WindowLaw for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn report(&mut self, period: &Period) -> Report {
        Report::of(period, self.window)
    }

    fn update(&mut self, _: &[Report], _: usize) -> f64 {
        self.window
    }
}
