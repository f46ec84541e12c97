use super::super::{Period, Report};

/// A law with what it remembers. Each period it is asked for a [`report`](WindowLaw::report), and when the reports of all hosts
/// have been read, for the window by [`update`](WindowLaw::update).
pub trait WindowLaw: Send {
    fn name(&self) -> &'static str;

    fn report(&mut self, period: &Period) -> Report;

    /// The window from now on, in units of cost. `all` has the latest report of each live host, and `own` is the place of this
    /// host's among them; where that is missing the window stays.
    fn update(&mut self, all: &[Report], own: usize) -> f64;

    /// Whether the latency is above the threshold although the window is as small as the law lets it be: then something that
    /// keeps to no law loads the storage.
    fn is_at_floor(&self) -> bool {
        false
    }

    /// This host's part of the device over the part that its shares give it, where the host is held back and the two stay far
    /// from each other, because the storage is not divided by windows.
    fn unfair(&self) -> Option<f64> {
        None
    }

    /// What shares add to the window by the last period that was reported, where the law has such a figure: the beta of the
    /// published law.
    fn beta(&self) -> Option<f64> {
        None
    }
}
