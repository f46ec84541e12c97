//! The journal: every decision with the sample that it was made of. It is bounded, and has all that a replay needs.

use super::supervised::{SupervisedController, Verdict};
use evenkeel_core::control::{Controller, Sample};
use std::collections::VecDeque;

#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// What the controller got to see; sensors that lie are left out.
    pub sample: Sample,
    pub verdict: Verdict,
}

#[derive(Clone, Debug)]
pub struct Journal {
    entries: VecDeque<Entry>,
    most: usize,
}

impl Journal {
    pub fn new(most: usize) -> Self {
        let most = most.max(1);
        // All at once: one that grows doubles, and a ring goes round through all that it has.
        Self { entries: VecDeque::with_capacity(most), most }
    }

    pub fn push(&mut self, entry: Entry) {
        if self.entries.len() >= self.most {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
    }

    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    pub tick: usize,
    pub then: u32,
    pub now: Verdict,
}

/// Asks a controller again with the samples of a journal. One of the same kind and initial limit gives the same
/// limits; another kind shows what it would have wanted, though the server answered to other limits.
pub fn replay<'a>(
    samples: impl IntoIterator<Item = (&'a Sample, u32)>,
    controller: Box<dyn Controller>,
    initial_limit: u32,
    max_limit: u32,
) -> Vec<Replayed> {
    let mut controller = SupervisedController::new(controller, initial_limit, max_limit);
    let ticks = samples.into_iter().enumerate();
    ticks
        .map(|(tick, (sample, then))| Replayed { tick, then, now: controller.tick(&mut sample.clone()) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::Nanos;
    use evenkeel_core::control::{Decision, Fixed, Reason};

    /// One more than it was told, up to 9.
    struct Climb;

    impl Controller for Climb {
        fn name(&self) -> &'static str {
            "climb"
        }

        fn update(&mut self, sample: &Sample) -> Decision {
            Decision { limit: (sample.limit + 1).min(9), why: Reason::Start }
        }
    }

    fn record(ticks: u64) -> Journal {
        let mut controller = SupervisedController::new(Box::new(Climb), 1, 100);
        let mut journal = Journal::new(20);
        let mut limit = 1;
        for tick in 0..ticks {
            let (start, end) = (Nanos::from_millis(tick * 100), Nanos::from_millis(tick * 100 + 100));
            let mut sample = Sample { start, end, limit, completions: 10, work: 10.0, ..Sample::default() };
            let verdict = controller.tick(&mut sample);
            limit = verdict.limit;
            journal.push(Entry { sample, verdict });
        }
        journal
    }

    #[test]
    fn a_replay_gives_the_same_limits() {
        let journal = record(15);
        let ticks = journal.entries().map(|entry| (&entry.sample, entry.verdict.limit));
        let replayed = replay(ticks, Box::new(Climb), 1, 100);
        assert_eq!(replayed.len(), 15);
        assert!(replayed.iter().all(|tick| tick.then == tick.now.limit));
    }

    #[test]
    fn a_replay_with_another_controller_shows_where_they_differ() {
        let journal = record(15);
        let ticks = journal.entries().map(|entry| (&entry.sample, entry.verdict.limit));
        let differing =
            replay(ticks, Box::new(Fixed::new(4)), 1, 100).iter().filter(|t| t.then != t.now.limit).count();
        assert_eq!(differing, 14);
    }
}
