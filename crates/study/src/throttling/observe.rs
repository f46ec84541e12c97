//! The server during the measured phase of a point: the machine by a sampler, the server's status and the guard's CPU time at both
//! ends.

use crate::published::{Result, While};
use evenkeel_core::Nanos;
use evenkeel_os::clock::Clock;
use evenkeel_os::stop::Stop;
use evenkeel_sense::Domain;
use evenkeel_sense::cpu::{CpuReading, CpuUse};
use evenkeel_sense::sampler::{Sampler, SensePlan, SenseRecord};
use evenkeel_sense::status::{StatusReading, StatusUse};
use evenkeel_site::server::{Control, StatusOf, Target};
use std::thread::JoinHandle;
use std::time::Duration;

/// Looks at the stop switch this often while it waits.
const PATIENCE: Duration = Duration::from_millis(20);

pub struct Observer {
    sampler: Sampler,
    ends: JoinHandle<Ends>,
    stop: Stop,
}

pub struct Seen {
    /// What the machine's sensors saw.
    pub sense: SenseRecord,
    /// The server; `None` where it did not answer.
    pub status: Option<StatusUse>,
    /// CPU of the others on the machine, percent of the whole machine: of whoever is neither server nor guard nor clients.
    pub other_load_percent: Option<f64>,
}

#[derive(Default)]
struct Ends {
    status: Option<StatusUse>,
    /// CPUs that the guard used; none without a guard, `None` where that cannot be seen.
    guard_cpus: Option<f64>,
}

impl Observer {
    /// Begins now; `delay` later the measured phase begins, and lasts `measure`. A guard in front of the server is named by its
    /// process.
    pub fn start(
        mut plan: SensePlan,
        target: &Target,
        guard: Option<u32>,
        (delay, measure): (Nanos, Nanos),
    ) -> Result<Self> {
        (plan.delay, plan.duration) = (delay, measure);
        let mut control = Control::connect(target)?;
        let stop = Stop::default();
        let stopped = stop.clone();
        let clock = Clock::start();
        let watch = move || {
            wait(&clock, delay, &stopped);
            let guard_before = guard.and_then(|process| cpu_of(process, &clock));
            let (before, began) = (read(&mut control), clock.now());
            wait(&clock, delay + measure, &stopped);
            let guard_after = guard.and_then(|process| cpu_of(process, &clock));
            let (after, over) = (read(&mut control), clock.now() - began);
            let status = before.zip(after).map(|(before, after)| StatusUse::between(&before, &after, over));
            let guard_cpus = guard.map_or(Some(0.0), |_| cpus_used(&guard_before?, &guard_after?));
            Ends { status, guard_cpus }
        };
        let ends = std::thread::Builder::new().name("status".into()).spawn(watch);
        let ends = ends.doing(|| "starting a thread")?;
        Ok(Self { sampler: Sampler::start(plan).doing(|| "starting a sampler")?, ends, stop })
    }

    /// Ends both, early if need be.
    pub fn finish(self) -> Seen {
        self.stop.set();
        // A panic in it has been told already; then nothing was read.
        let Ends { status, guard_cpus } = self.ends.join().unwrap_or_default();
        let sense = self.sampler.finish();
        let whole = sense.whole.as_ref();
        let other_load_percent = whole.and_then(|whole| {
            let capacity = whole.host.as_ref()?.capacity;
            Some(without_guard(whole.other_load?, guard_cpus?, capacity))
        });
        Seen { sense, status, other_load_percent }
    }
}

/// What others used, percent of a machine of so many CPUs, less what the guard did. Both are read by clocks of their own, so that the
/// difference may be a little below nothing.
fn without_guard(other_percent: f64, guard_cpus: f64, capacity: f64) -> f64 {
    (other_percent - 100.0 * guard_cpus / capacity).max(0.0)
}

fn cpu_of(process: u32, clock: &Clock) -> Option<(CpuReading, Nanos)> {
    Some((Domain::Process(process).read()?, clock.now()))
}

fn cpus_used((before, from): &(CpuReading, Nanos), (after, to): &(CpuReading, Nanos)) -> Option<f64> {
    let over = *to - *from;
    Some(CpuUse::between(before, after, over)?.busy.as_secs_f64() / over.as_secs_f64())
}

fn wait(clock: &Clock, until: Nanos, stop: &Stop) {
    while clock.now() < until && !stop.is_set() {
        std::thread::sleep(PATIENCE.min((until - clock.now()).into()));
    }
}

fn read(control: &mut Control) -> Option<StatusReading> {
    Some(StatusReading::from(&control.status_of(StatusOf::Server, &[]).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_guard_uses_disturbs_nobody() {
        assert_eq!(without_guard(30.0, 0.0, 2.0), 30.0, "there is none");
        assert_eq!(without_guard(30.0, 0.5, 2.0), 5.0, "half a CPU of two is a quarter of the machine");
        assert_eq!(without_guard(24.9, 0.5, 2.0), 0.0);
    }
}
