//! Watching a run from beside: the machine by a sampler, the server by what it says of itself.

use super::StudyError;
use super::watch::{Watch, Watched};
use crate::clock::Clock;
use crate::load::stretches;
use crate::stop::Stop;
use crate::target::{Control, Target};
use evenkeel_core::Nanos;
use evenkeel_sense::cpu::Domain;
use evenkeel_sense::neighbours::{NeighbourPlan, NeighbourRecord, Neighbours};
use evenkeel_sense::sampler::{Sampler, SensePlan, SenseRecord};
use std::thread::{self, JoinHandle};

/// Both observers of one run.
pub(super) struct Observer {
    sampler: Sampler,
    server: JoinHandle<Watched>,
    neighbours: Option<Neighbours>,
    stop: Stop,
}

/// What they saw.
pub(super) struct Observation {
    /// The machine.
    pub sense: SenseRecord,
    /// The server.
    pub server: Watched,
    /// Neighbours, where they can be seen.
    pub neighbours: Option<NeighbourRecord>,
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
        let cpus = plan.generator_cpus.clone().unwrap_or_default();
        let watch = Watch { clock, stop: stop.clone(), warm_up, measure, cpus };
        let server = thread::Builder::new()
            .name("watch".into())
            .spawn(move || watch.run(control))
            .map_err(|source| StudyError::Start { what: "a thread", source })?;
        let neighbours = neighbour_plan(&plan).map(Neighbours::start).transpose()?;
        Ok(Self { sampler: Sampler::start(plan)?, server, neighbours, stop })
    }

    /// Ends both, early if need be.
    pub(super) fn finish(self) -> Observation {
        self.stop.set();
        let server = self.server.join().unwrap_or_default();
        let neighbours = self.neighbours.map(Neighbours::finish);
        Observation { sense: self.sampler.finish(), server, neighbours }
    }
}

/// What neighbours take of the server's CPUs; nothing where its process is not on this machine.
fn neighbour_plan(plan: &SensePlan) -> Option<NeighbourPlan> {
    let server_pid = plan.server_pid?;
    Some(NeighbourPlan {
        cpus: plan.domain.clone().unwrap_or(Domain::Process(server_pid)).cpus()?,
        server_pid,
        generator_cpus: plan.generator_cpus.clone().unwrap_or_default(),
        delay: plan.delay,
        duration: plan.duration,
        stretch: stretches::length(),
    })
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
