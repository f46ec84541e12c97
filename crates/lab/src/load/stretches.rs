//! The measured phase in stretches so short that most of them lie between the bursts of a neighbour, and in batches of equal
//! duration.

use super::result::Stretch;
use evenkeel_core::Nanos;
use evenkeel_core::statistics::pooled::Batch;
use evenkeel_core::statistics::{BATCHES, SpectrumCounter};

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
pub(super) fn add_stretches(total: &mut Vec<Stretch>, part: &[Stretch]) {
    total.resize(total.len().max(part.len()), Stretch::default());
    for (total, part) in total.iter_mut().zip(part) {
        total.completed += part.completed;
        total.responses += part.responses;
        total.response_sum += part.response_sum;
        total.lag_max = total.lag_max.max(part.lag_max);
    }
}

/// What one thread counts of each batch. Counting is an addition to memory that is there: nothing is allocated after the
/// start.
#[derive(Default)]
pub(super) struct Batches {
    start: Nanos,
    length: u64,
    counted: Vec<Counted>,
}

#[derive(Clone, Default)]
struct Counted {
    batch: Batch,
    responses: SpectrumCounter,
}

impl Batches {
    /// Batches of a measured phase on the monotonic clock.
    pub fn new(start: Nanos, end: Nanos) -> Self {
        let length = (end - start).0.div_ceil(BATCHES as u64);
        Self { start, length, counted: vec![Counted::default(); BATCHES] }
    }

    fn of(&mut self, arrival: Nanos) -> Option<&mut Counted> {
        let place = arrival.0.checked_sub(self.start.0)?.checked_div(self.length)?;
        self.counted.get_mut(usize::try_from(place).ok()?)
    }

    pub fn arrived(&mut self, arrival: Nanos) {
        if let Some(counted) = self.of(arrival) {
            counted.batch.arrivals += 1;
        }
    }

    /// A request that arrived then ended; `response` is what counts in the response time, if anything does.
    pub fn ended(&mut self, arrival: Nanos, is_completed: bool, response: Option<Nanos>) {
        let Some(Counted { batch, responses }) = self.of(arrival) else { return };
        batch.completed += u64::from(is_completed);
        batch.lost += u64::from(!is_completed);
        if let Some(response) = response {
            batch.response_sum += response;
            responses.record(response.0);
        }
    }

    /// The batches of a phase that lasted so long; those after an early end are left out, one that it cut stays.
    pub fn finish(self, measured: Nanos) -> Vec<Batch> {
        let begun = measured.0.div_ceil(self.length.max(1));
        let whole = |mut counted: Counted| {
            counted.batch.spectrum = counted.responses.take();
            counted.batch
        };
        self.counted.into_iter().take(usize::try_from(begun).unwrap_or(BATCHES)).map(whole).collect()
    }
}

pub(super) fn add_batches(total: &mut Vec<Batch>, part: &[Batch]) {
    total.resize(total.len().max(part.len()), Batch::default());
    total.iter_mut().zip(part).for_each(|(total, part)| total.add(part));
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

    fn second(second: f64) -> Nanos {
        START + Nanos::from_secs_f64(second)
    }

    #[test]
    fn a_request_counts_in_the_batch_of_its_arrival_whenever_it_ends() {
        let mut batches = Batches::new(START, second(10.0));
        for at in [0.0, 0.499, 0.5, 9.999] {
            batches.arrived(second(at));
            batches.ended(second(at), true, Some(Nanos::from_secs(2)));
        }
        let batches = batches.finish(Nanos::from_secs(10));
        let arrivals: Vec<u64> = batches.iter().map(|batch| batch.arrivals).collect();
        assert_eq!((arrivals[0], arrivals[1], arrivals[19], batches.len()), (2, 1, 1, BATCHES));
        assert_eq!(batches[0].response_sum, Nanos::from_secs(4));
        assert_eq!(batches[0].spectrum.count(), 2);
    }

    #[test]
    fn what_failed_is_lost_and_has_no_response_and_what_timed_out_has_its_age() {
        let mut batches = Batches::new(START, second(10.0));
        batches.ended(second(1.2), false, None);
        batches.ended(second(1.3), false, Some(Nanos::from_secs(5)));
        let batch = batches.finish(Nanos::from_secs(10)).swap_remove(2);
        assert_eq!((batch.lost, batch.completed, batch.spectrum.count()), (2, 0, 1));
    }

    #[test]
    fn arrivals_outside_the_phase_and_before_it_is_known_count_nowhere() {
        let mut batches = Batches::new(START, second(10.0));
        batches.arrived(second(10.0));
        batches.arrived(Nanos::from_secs(99));
        assert!(batches.finish(Nanos::from_secs(10)).iter().all(|batch| *batch == Batch::default()));
        let mut unknown = Batches::default();
        unknown.arrived(second(1.0));
        assert_eq!(unknown.finish(Nanos::ZERO), Vec::new());
    }

    #[test]
    fn a_phase_that_ended_early_has_the_batches_that_were_begun() {
        assert_eq!(Batches::new(START, second(10.0)).finish(Nanos::from_millis(1_200)).len(), 3);
        assert_eq!(Batches::new(START, second(10.0)).finish(Nanos::ZERO).len(), 0);
    }
}
