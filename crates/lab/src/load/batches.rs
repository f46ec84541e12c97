//! The measured phase in batches of equal duration, by scheduled arrival.

use evenkeel_core::Nanos;
use evenkeel_core::statistics::pooled::Batch;
use evenkeel_core::statistics::{BATCHES, SpectrumCounter};

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

pub(super) fn add(total: &mut Vec<Batch>, part: &[Batch]) {
    total.resize(total.len().max(part.len()), Batch::default());
    total.iter_mut().zip(part).for_each(|(total, part)| total.add(part));
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Nanos = Nanos::from_secs(100);

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

    #[test]
    fn batches_of_threads_add_up() {
        let one = |seconds: u64| {
            let mut batches = Batches::new(START, second(10.0));
            batches.arrived(second(0.1));
            batches.ended(second(0.1), true, Some(Nanos::from_secs(seconds)));
            batches.finish(Nanos::from_secs(10))
        };
        let mut total = Vec::new();
        add(&mut total, &one(1));
        add(&mut total, &one(3));
        assert_eq!((total.len(), total[0].arrivals, total[0].completed), (BATCHES, 2, 2));
        assert_eq!((total[0].response_sum, total[0].spectrum.count()), (Nanos::from_secs(4), 2));
    }
}
