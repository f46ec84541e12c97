//! The server during the measured phase of a point: the machine by a sampler, the server's status at both ends.

use crate::published::{Result, While};
use evenkeel_core::Nanos;
use evenkeel_os::clock::Clock;
use evenkeel_os::stop::Stop;
use evenkeel_sense::sampler::{Sampler, SensePlan, SenseRecord};
use evenkeel_sense::status::{StatusReading, StatusUse};
use evenkeel_site::server::{Control, StatusOf, Target};
use std::thread::JoinHandle;
use std::time::Duration;

/// Looks at the stop switch this often while it waits.
const PATIENCE: Duration = Duration::from_millis(20);

/// Both at work.
pub struct Observer {
    sampler: Sampler,
    status: JoinHandle<Option<StatusUse>>,
    stop: Stop,
}

/// What they saw.
pub struct Seen {
    /// The machine.
    pub sense: SenseRecord,
    /// The server; `None` where it did not answer.
    pub status: Option<StatusUse>,
}

impl Observer {
    /// Begins now; `delay` later the measured phase begins, and lasts `measure`.
    ///
    /// # Errors
    /// The server lets nobody in, or there is no thread.
    pub fn start(mut plan: SensePlan, target: &Target, delay: Nanos, measure: Nanos) -> Result<Self> {
        (plan.delay, plan.duration) = (delay, measure);
        let mut control = Control::connect(target)?;
        let stop = Stop::default();
        let stopped = stop.clone();
        let clock = Clock::start();
        let watch = move || {
            wait(&clock, delay, &stopped);
            let (before, began) = (read(&mut control), clock.now());
            wait(&clock, delay + measure, &stopped);
            let after = read(&mut control);
            Some(StatusUse::between(&before?, &after?, clock.now() - began))
        };
        let status =
            std::thread::Builder::new().name("status".into()).spawn(watch).doing(|| "starting a thread")?;
        Ok(Self { sampler: Sampler::start(plan).doing(|| "starting a sampler")?, status, stop })
    }

    /// Ends both, early if need be.
    pub fn finish(self) -> Seen {
        self.stop.set();
        // A panic in it has been told already; then there is no status.
        Seen { status: self.status.join().unwrap_or_default(), sense: self.sampler.finish() }
    }
}

fn wait(clock: &Clock, until: Nanos, stop: &Stop) {
    while clock.now() < until && !stop.is_set() {
        std::thread::sleep(PATIENCE.min((until - clock.now()).into()));
    }
}

fn read(control: &mut Control) -> Option<StatusReading> {
    Some(StatusReading::from(&control.status_of(StatusOf::Server, &[]).ok()?))
}
