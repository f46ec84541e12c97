//! Neighbours take some of the server's CPUs; how much is read in short stretches of a run.
//!
//! The kernel counts the time of a whole CPU in ticks, on most machines of 10 ms, and that of a process in nanoseconds.
//! So the share of a single stretch of 100 ms errs by some 15 % of one CPU, by which a burst differs from rest and no more; the
//! errors of neighbouring stretches cancel, so that their mean is as fine as wanted.

use crate::cpu::{CpuReading, CpuSet, StatFile};
use crate::error::SenseError;
use crate::throttle::{ThrottleReading, Throttling};
use evenkeel_core::Nanos;
use evenkeel_os::clock::{Clock, process_cpu};
use evenkeel_os::cpu::Affinity;
use evenkeel_os::usage;
use evenkeel_os::{Background, Until};

/// What to watch, and when.
#[derive(Clone, Debug)]
pub struct NeighbourPlan {
    pub cpus: CpuSet,
    pub server_pid: u32,
    /// CPUs that the generator is kept on, empty where it runs anywhere. Its time counts as no neighbour's.
    pub generator_cpus: CpuSet,
    /// From the start to the start of the measured phase.
    pub delay: Nanos,
    pub duration: Nanos,
    /// Length of a stretch.
    pub stretch: Nanos,
}

/// What was seen of one stretch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stretch {
    /// Share of the CPUs' time that others or the hypervisor took; a little below zero by the ticks' error. `None` where
    /// the readings came too late.
    pub taken: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct NeighbourRecord {
    /// In their order; shorter than the phase where it was stopped.
    pub stretches: Vec<Stretch>,
    /// Share by which a single stretch may err.
    pub error: f64,
    /// Share over the whole phase, at least zero; `None` where nothing was read.
    pub taken: Option<f64>,
    /// CPUs that the shares are of.
    pub cpus: f64,
    /// Whether the server was held back from its first reading to its last.
    pub throttling: Throttling,
}

/// A watch over neighbours. Dropping it ends its thread.
#[derive(Debug)]
pub struct Neighbours(Background<NeighbourRecord>);

#[derive(Clone, Copy)]
struct Reading {
    at: Nanos,
    /// Time that the CPUs were busy or stolen, whoever used them, but for interrupts.
    used: Nanos,
    /// The part of it that is the server's, or the generator's.
    known: Nanos,
}

impl Neighbours {
    /// Starts to watch by the plan.
    pub fn start(plan: NeighbourPlan) -> Result<Self, SenseError> {
        let clock = Clock::start();
        let started = Background::start("neighbours", move |until| plan.watch(&clock, until));
        started.map(Self).map_err(|source| SenseError::Thread { source })
    }

    pub fn finish(self) -> NeighbourRecord {
        self.0.finish().unwrap_or_default()
    }
}

impl NeighbourPlan {
    fn watch(&self, clock: &Clock, until: &Until) -> NeighbourRecord {
        // Where the kernel refuses, the watch takes a few microseconds of the server's CPUs.
        let _ = Affinity::of(&self.generator_cpus).apply();
        let count = self.duration.0.checked_div(self.stretch.0).unwrap_or(0);
        let mut readings: Vec<Option<Reading>> = Vec::new();
        let mut began = None;
        for number in 0..=count {
            let at = self.delay + Nanos(number * self.stretch.0);
            if !until.wait_until(at, || clock.now()) {
                break;
            }
            began.get_or_insert_with(|| (clock.now(), self.throttle()));
            let late = clock.now() > at + Nanos(self.stretch.0 / 4);
            readings.push(if late { None } else { self.read(clock) });
        }
        let throttling = began.map(|(at, before)| {
            Throttling::between(&before, &self.throttle(), clock.now() - at, self.cpus.len() as f64)
        });
        NeighbourRecord { throttling: throttling.unwrap_or_default(), ..self.record(&readings) }
    }

    fn throttle(&self) -> ThrottleReading {
        ThrottleReading::of(self.server_pid, &self.cpus)
    }

    fn read(&self, clock: &Clock) -> Option<Reading> {
        let cpus = StatFile::read()?.some(&self.cpus)?;
        let server = usage::process_cpu(self.server_pid)?;
        let beside =
            self.generator_cpus.is_empty() || !self.generator_cpus.intersection(&self.cpus).is_empty();
        let own = if beside { process_cpu() } else { Nanos::ZERO };
        Some(Reading { at: clock.now(), used: used(&cpus), known: server + own })
    }

    fn record(&self, readings: &[Option<Reading>]) -> NeighbourRecord {
        let cpus = self.cpus.len() as f64;
        let share = |before: &Reading, after: &Reading| {
            let length = (after.at - before.at).as_secs_f64() * cpus;
            let used = (after.used - before.used).as_secs_f64();
            let known = (after.known - before.known).as_secs_f64();
            (length > 0.0).then(|| (used - known) / length)
        };
        let stretches: Vec<Stretch> = readings
            .windows(2)
            .map(|pair| Stretch { taken: pair[0].zip(pair[1]).and_then(|(one, other)| share(&one, &other)) })
            .collect();
        let mut read = readings.iter().flatten();
        let ends = read.next().zip(read.next_back());
        NeighbourRecord {
            error: 1.5 * usage::tick().as_secs_f64() / (self.stretch.as_secs_f64() * cpus.sqrt()).max(1e-9),
            taken: ends.and_then(|(first, last)| share(first, last)).map(|taken| taken.max(0.0)),
            stretches,
            cpus,
            throttling: Throttling::default(),
        }
    }
}

/// Interrupts are nobody's: most come of what the server itself sends, receives and writes, and no counter says whose they are.
fn used(cpus: &CpuReading) -> Nanos {
    cpus.busy - cpus.irq.unwrap_or_default() + cpus.steal.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> NeighbourPlan {
        NeighbourPlan {
            cpus: [0].into_iter().collect(),
            server_pid: std::process::id(),
            generator_cpus: CpuSet::default(),
            delay: Nanos::ZERO,
            duration: Nanos::from_secs(1),
            stretch: Nanos::from_millis(100),
        }
    }

    fn reading(at: u64, used: u64, known: u64) -> Option<Reading> {
        let [at, used, known] = [at, used, known].map(Nanos::from_millis);
        Some(Reading { at, used, known })
    }

    #[test]
    fn interrupts_are_taken_by_nobody() {
        let reading = CpuReading {
            busy: Nanos::from_millis(60),
            irq: Some(Nanos::from_millis(15)),
            steal: Some(Nanos::from_millis(5)),
            ..CpuReading::default()
        };
        assert_eq!(used(&reading), Nanos::from_millis(50));
        assert_eq!(used(&CpuReading { irq: None, steal: None, ..reading }), Nanos::from_millis(60));
    }

    #[test]
    fn what_neither_server_nor_generator_used_was_taken() {
        let readings =
            [reading(0, 0, 0), reading(100, 90, 40), reading(200, 150, 100), reading(300, 160, 111)];
        let record = plan().record(&readings);
        let taken: Vec<f64> = record.stretches.iter().filter_map(|stretch| stretch.taken).collect();
        let expected = [0.5, 0.0, -0.01];
        assert!(taken.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-9), "{taken:?}");
        assert!((record.taken.unwrap() - 0.49 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_reading_that_is_missing_spoils_both_stretches_and_not_the_whole() {
        let record = plan().record(&[reading(0, 0, 0), None, reading(200, 100, 0)]);
        assert!(record.stretches.iter().all(|stretch| stretch.taken.is_none()));
        assert_eq!(record.taken, Some(0.5));
        assert_eq!(
            plan().record(&[]),
            NeighbourRecord { error: record.error, cpus: 1.0, ..NeighbourRecord::default() }
        );
    }

    #[test]
    fn a_watch_that_is_stopped_keeps_what_it_saw() {
        let seen = Neighbours::start(NeighbourPlan { duration: Nanos::from_secs(3_600), ..plan() }).unwrap();
        assert!(seen.finish().stretches.len() < 36_000);
    }
}
