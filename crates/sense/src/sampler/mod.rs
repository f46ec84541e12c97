//! A thread of its own samples everything during a run.
//!
//! It reads at absolute instants, so that a reading that came late does not move the next, and every figure is the difference
//! of two readings over the time measured between them, so that lateness costs no truth. The load threads know nothing of
//! it. It costs some 0.3 ms of CPU a reading and 30 us more for each thread of the server.

mod record;

use crate::error::SenseError;
use evenkeel_core::Nanos;
use evenkeel_os::clock::Clock;
use evenkeel_os::cpu::Affinity;
use evenkeel_os::{Background, Until};
use record::{Probe, Reading};
pub use record::{SensePlan, SenseRecord, SenseSample};
use std::error::Error;

/// A sampler at work. Dropping it ends its thread too, and throws the samples away.
#[derive(Debug)]
pub struct Sampler(Background<SenseRecord>);

impl Sampler {
    pub fn start(plan: SensePlan) -> Result<Self, SenseError> {
        let clock = Clock::start();
        let started = Background::start("sense", move |until| run(&plan, &clock, until));
        started.map(Self).map_err(|source| SenseError::Thread { source })
    }

    /// Whether the schedule is over.
    pub fn is_over(&self) -> bool {
        self.0.is_over()
    }

    /// Ends the sampling, at once even where the schedule is not over, and hands out what there is.
    pub fn finish(self) -> SenseRecord {
        self.0.finish().unwrap_or_default()
    }
}

fn run(plan: &SensePlan, clock: &Clock, until: &Until) -> SenseRecord {
    if let Some(cpus) = &plan.generator_cpus {
        // Where the kernel refuses, sampling goes on wherever it runs: a little noise, no wrong figure.
        let _ = Affinity::of(cpus).apply();
    }
    let schedule = Schedule::new(plan.duration);
    let (probe, refused) = Probe::open(plan, schedule.spacing());
    let mut record = sample_all(plan, &schedule, &probe, clock, until);
    record.counters_refused = refused.map(|error| describe(&error));
    record.device = probe.device().cloned();
    record
}

/// An error with its causes, in one line.
fn describe(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

fn sample_all(
    plan: &SensePlan,
    schedule: &Schedule,
    probe: &Probe,
    clock: &Clock,
    until: &Until,
) -> SenseRecord {
    let mut record = SenseRecord { planned: schedule.samples.len(), ..SenseRecord::default() };
    let mut ends: Option<(Reading, Reading)> = None;
    let mut instants = schedule.readings().map(|at| at + plan.delay).peekable();
    while let Some(at) = instants.next() {
        if !until.wait_until(at, || clock.now()) {
            record.stopped = true;
            break;
        }
        let next = instants.peek().copied();
        if next.is_some_and(|next| clock.now() >= next) {
            record.merged += 1;
            continue;
        }
        let reading = probe.read(clock, ends.is_none() || next.is_none());
        ends = Some(match ends {
            None => (reading.clone(), reading),
            Some((first, last)) => {
                record.samples.push(SenseSample::between(&last, &reading, plan.delay, plan.domain.as_ref()));
                (first, reading)
            }
        });
    }
    record.whole = ends
        .filter(|_| !record.samples.is_empty())
        .map(|(first, last)| SenseSample::between(&first, &last, plan.delay, plan.domain.as_ref()));
    record
}

/// Instants of the readings of a run, from the start of its measured phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// First reading, which later ones are compared with. `None` where the run is too short for any.
    pub first: Option<Nanos>,
    /// Ends of the samples, ascending. The first sample begins at `first`, every other where the one
    /// before it ended.
    pub samples: Vec<Nanos>,
}

/// Of a long run, so much at both ends is not sampled.
const TRIM: Nanos = Nanos::from_secs(30);
/// Of a shorter run, this part of it instead.
const TRIM_PART: u64 = 6;
/// Length of a sample in a long run.
const SPACING: Nanos = Nanos::from_secs(3);
/// Least length of a sample: ten ticks of the kernel's accounts, so that one tick is 10 % of a CPU.
const SPACING_MIN: Nanos = Nanos::from_millis(100);
/// A short run has at least so many samples, as long as they keep the least length.
const SAMPLES_MIN: u64 = 10;
/// No run has more (17 hours at 3 s); those of a longer one are spaced wider.
const SAMPLES_MAX: u64 = 20_000;

impl Schedule {
    /// The schedule of a run of `duration`.
    ///
    /// From 180 s on: samples of 3 s between t+30 s and t+d-30 s, 40 of them in 180 s. Below: between
    /// t+d/6 and t+d-d/6, of 3 s or a little more, but at least ten of them; below 1.5 s fewer, because
    /// none is shorter than 100 ms; below 150 ms none.
    pub fn new(duration: Nanos) -> Self {
        let trim = TRIM.min(Nanos(duration.0 / TRIM_PART));
        let stretch = duration - trim - trim;
        let count = (stretch.0 / SPACING.0).max(SAMPLES_MIN).min(stretch.0 / SPACING_MIN.0).min(SAMPLES_MAX);
        if count == 0 {
            return Self::default();
        }
        let long = trim == TRIM && count < SAMPLES_MAX;
        let spacing = if long { SPACING } else { Nanos(stretch.0 / count) };
        let samples = (1..=count).map(|number| trim + Nanos(spacing.0 * number)).collect();
        Self { first: Some(trim), samples }
    }

    /// Length of a sample; zero where there is none.
    pub fn spacing(&self) -> Nanos {
        match (self.first, self.samples.first()) {
            (Some(first), Some(&end)) => end - first,
            _ => Nanos::ZERO,
        }
    }

    /// All readings in order, the first included.
    pub fn readings(&self) -> impl Iterator<Item = Nanos> + '_ {
        self.first.into_iter().chain(self.samples.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_secs(secs: f64) -> Schedule {
        Schedule::new(Nanos::from_secs_f64(secs))
    }

    #[test]
    fn a_run_of_three_minutes_has_forty_samples_of_three_seconds() {
        let schedule = of_secs(180.0);
        let expected: Vec<Nanos> = (1..=40).map(|number| Nanos::from_secs(30 + 3 * number)).collect();
        assert_eq!((schedule.first, &schedule.samples), (Some(TRIM), &expected));
        assert_eq!(schedule.samples.last(), Some(&Nanos::from_secs(150)));
        assert_eq!(schedule.readings().count(), 41);
    }

    #[test]
    fn shorter_runs_are_scaled_down() {
        for (secs, count) in [
            (179.0, 39),
            (90.0, 20),
            (60.0, 13),
            (45.0, 10),
            (10.0, 10),
            (1.5, 10),
            (1.0, 6),
            (0.15, 1),
            (0.14, 0),
        ] {
            assert_eq!(of_secs(secs).samples.len(), count, "{secs} s");
        }
        let ten = of_secs(10.0);
        assert_eq!(ten.first, Some(Nanos(10_000_000_000 / 6)));
        let end = ten.samples.last().expect("samples").as_secs_f64();
        assert!((end - 10.0 * 5.0 / 6.0).abs() < 1e-6, "{end}");
    }

    #[test]
    fn longer_runs_keep_the_spacing() {
        let schedule = of_secs(200.0);
        assert_eq!(schedule.samples.len(), 46);
        assert_eq!(schedule.samples[1] - schedule.samples[0], SPACING);
        assert_eq!((schedule.spacing(), of_secs(0.1).spacing()), (SPACING, Nanos::ZERO));
    }

    #[test]
    fn every_schedule_lies_inside_its_run_and_keeps_the_least_spacing() {
        for millis in (0..400_000).step_by(37) {
            let duration = Nanos::from_millis(millis);
            let readings: Vec<Nanos> = Schedule::new(duration).readings().collect();
            assert!(readings.windows(2).all(|pair| pair[1] - pair[0] >= SPACING_MIN), "{millis} ms");
            let trim = TRIM.min(Nanos(duration.0 / TRIM_PART));
            assert!(readings.iter().all(|&at| at >= trim && at + trim <= duration), "{millis} ms");
        }
    }

    #[test]
    fn an_endless_run_has_a_bounded_schedule() {
        for duration in [Nanos::MAX, Nanos::from_secs(60 + 3 * SAMPLES_MAX)] {
            let schedule = Schedule::new(duration);
            assert_eq!(schedule.samples.len(), SAMPLES_MAX as usize);
            assert!(schedule.samples.last().is_some_and(|&last| last + TRIM <= duration));
        }
        assert_eq!(Schedule::new(Nanos::ZERO), Schedule::default());
    }
}
