//! Watching a run from beside: the machine by a sampler, the server by its status at both ends of the
//! measured phase.

use super::StudyError;
use crate::clock::Clock;
use crate::stop::Stop;
use crate::target::{Control, Target};
use evenkeel_core::Nanos;
use evenkeel_sense::cpu::Domain;
use evenkeel_sense::sampler::{Sampler, SensePlan, SenseRecord};
use evenkeel_sense::status::{StatusReading, StatusUse};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Looks at the stop switch this often while it waits.
const PATIENCE: Duration = Duration::from_millis(50);

/// Both observers of one run.
pub(super) struct Observer {
    sampler: Sampler,
    status: JoinHandle<Option<StatusUse>>,
    stop: Stop,
}

/// What they saw.
pub(super) struct Observation {
    /// The machine.
    pub sense: SenseRecord,
    /// The server; `None` where it did not answer at one of the ends.
    pub status: Option<StatusUse>,
}

impl Observer {
    /// Begins with the warm-up: `warm_up` later the measured phase begins, and lasts `measure`.
    pub(super) fn start(
        mut plan: SensePlan,
        target: &Target,
        warm_up: Nanos,
        measure: Nanos,
    ) -> Result<Self, StudyError> {
        plan.delay = warm_up;
        plan.duration = measure;
        let clock = Clock::start();
        // Connected before the load begins, so that a full server still tells how it is.
        let control = Control::connect(target)?;
        let stop = Stop::default();
        let seen = stop.clone();
        let status = thread::Builder::new()
            .name("status".into())
            .spawn(move || read_status(control, clock, &seen, warm_up, warm_up + measure))
            .map_err(|source| StudyError::Start { what: "a thread", source })?;
        Ok(Self { sampler: Sampler::start(plan)?, status, stop })
    }

    /// Ends both, early if need be.
    pub(super) fn finish(self) -> Observation {
        self.stop.set();
        let status = self.status.join().unwrap_or_default();
        Observation { sense: self.sampler.finish(), status }
    }
}

fn read_status(
    mut control: Control,
    clock: Clock,
    stop: &Stop,
    begin: Nanos,
    end: Nanos,
) -> Option<StatusUse> {
    wait(&clock, stop, begin);
    let before = StatusReading::from(&control.status().ok()?);
    let read_at = clock.now();
    wait(&clock, stop, end);
    let after = StatusReading::from(&control.status().ok()?);
    Some(StatusUse::between(&before, &after, clock.now() - read_at))
}

fn wait(clock: &Clock, stop: &Stop, until: Nanos) {
    while clock.now() < until && !stop.is_set() {
        thread::sleep(PATIENCE.min((until - clock.now()).into()));
    }
}

/// CPU utilisation since the last look, for the progress line.
pub(super) struct Glance {
    domain: Option<Domain>,
    clock: Clock,
    last: Option<(Nanos, evenkeel_sense::cpu::CpuReading)>,
    theta_percent: Option<f64>,
}

impl Glance {
    pub(super) fn new(domain: Option<Domain>) -> Self {
        Self { domain, clock: Clock::start(), last: None, theta_percent: None }
    }

    /// Utilisation over the last half second or more, percent.
    pub(super) fn theta_percent(&mut self) -> Option<f64> {
        let domain = self.domain.as_ref()?;
        let now = self.clock.now();
        if let Some((at, before)) = &self.last {
            if now - *at < Nanos::from_millis(400) {
                return self.theta_percent;
            }
            let after = domain.read()?;
            self.theta_percent =
                evenkeel_sense::cpu::CpuUse::between(before, &after, now - *at).map(|used| used.total);
            self.last = Some((now, after));
        } else {
            self.last = Some((now, domain.read()?));
        }
        self.theta_percent
    }
}
