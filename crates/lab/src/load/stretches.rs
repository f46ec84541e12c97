//! The measured phase in stretches so short that most of them lie between the bursts of a neighbour.

use super::result::Stretch;
use evenkeel_core::Nanos;

/// Stretches that are kept at most, those of an hour: 1.1 MB for each load thread. A longer run has none of what
/// comes later, which then takes no part in what is said of undisturbed stretches.
const STRETCHES_MAX: u64 = 36_000;

/// Length of a stretch: `core::bounds::stretches::SECONDS`, as a constant, since it divides with every request.
pub const LENGTH: Nanos = Nanos::from_millis(100);

/// What one thread counts of each stretch. Nothing is allocated after the start.
#[derive(Default)]
pub(super) struct Stretches {
    start: Nanos,
    counted: Vec<Stretch>,
}

impl Stretches {
    /// Whole stretches of a measured phase on the monotonic clock.
    pub fn new(start: Nanos, end: Nanos) -> Self {
        let count = ((end - start).0 / LENGTH.0).min(STRETCHES_MAX);
        Self { start, counted: vec![Stretch::default(); usize::try_from(count).unwrap_or(0)] }
    }

    fn of(&mut self, instant: Nanos) -> Option<&mut Stretch> {
        let place = instant.0.checked_sub(self.start.0)? / LENGTH.0;
        self.counted.get_mut(usize::try_from(place).ok()?)
    }

    /// A request was completed at this instant.
    pub fn completed(&mut self, done: Nanos) {
        if let Some(stretch) = self.of(done) {
            stretch.completed += 1;
        }
    }

    /// A request that arrived then had this response time.
    pub fn responded(&mut self, arrival: Nanos, response: Nanos) {
        if let Some(stretch) = self.of(arrival) {
            stretch.responses += 1;
            stretch.response_sum += response;
        }
    }

    /// A request that arrived then was sent so late.
    pub fn sent(&mut self, arrival: Nanos, lag: Nanos) {
        if let Some(stretch) = self.of(arrival) {
            stretch.lag_max = stretch.lag_max.max(lag);
        }
    }

    /// The whole stretches of a phase that lasted so long.
    pub fn finish(mut self, measured: Nanos) -> Vec<Stretch> {
        self.counted.truncate(usize::try_from(measured.0 / LENGTH.0).unwrap_or(usize::MAX));
        self.counted
    }
}

/// Adds the stretches of one thread to those of others.
pub(super) fn add(total: &mut Vec<Stretch>, part: &[Stretch]) {
    total.resize(total.len().max(part.len()), Stretch::default());
    for (total, part) in total.iter_mut().zip(part) {
        total.completed += part.completed;
        total.responses += part.responses;
        total.response_sum += part.response_sum;
        total.lag_max = total.lag_max.max(part.lag_max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::bounds::stretches::SECONDS;

    #[test]
    fn a_stretch_is_as_long_as_those_that_are_judged() {
        assert_eq!(LENGTH.as_secs_f64(), SECONDS);
    }

    const START: Nanos = Nanos::from_secs(100);

    fn at(millis: u64) -> Nanos {
        START + Nanos::from_millis(millis)
    }

    #[test]
    fn a_completion_counts_where_it_happens_and_a_response_where_its_request_arrived() {
        let mut stretches = Stretches::new(START, at(1_000));
        stretches.responded(at(50), Nanos::from_millis(120));
        stretches.sent(at(50), Nanos::from_millis(3));
        stretches.completed(at(170));
        stretches.completed(at(5_000));
        stretches.completed(Nanos::from_secs(99));
        let stretches = stretches.finish(Nanos::from_secs(1));
        assert_eq!(stretches.len(), 10);
        assert_eq!((stretches[0].responses, stretches[0].completed, stretches[1].completed), (1, 0, 1));
        assert_eq!(stretches[0].lag_max, Nanos::from_millis(3));
    }

    #[test]
    fn a_phase_that_ended_early_and_one_without_length_have_whole_stretches_alone() {
        assert_eq!(Stretches::new(START, at(1_000)).finish(Nanos::from_millis(250)).len(), 2);
        assert_eq!(Stretches::new(START, START).finish(Nanos::ZERO).len(), 0);
        assert_eq!(Stretches::new(Nanos::ZERO, Nanos::from_secs(360_000)).finish(Nanos::MAX).len(), 36_000);
    }
}
