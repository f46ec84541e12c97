//! Watching a run from beside: the machine by a sampler, the server by what it says of itself.

use super::StudyError;
use super::watch::{Watch, Watched};
use evenkeel_core::Nanos;
use evenkeel_lab::load::stretches;
use evenkeel_os::clock::Clock;
use evenkeel_os::stop::Stop;
use evenkeel_sense::cpu::Domain;
use evenkeel_sense::neighbours::{NeighbourPlan, NeighbourRecord, Neighbours};
use evenkeel_sense::sampler::{Sampler, SensePlan, SenseRecord};
use evenkeel_site::server::{Control, HangUp, Target, TargetError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// An overloaded server has so long after the run to answer the last look.
const LAST_LOOK: Nanos = Nanos::from_secs(5);

pub(super) struct Observer {
    sampler: Sampler,
    server: JoinHandle<Watched>,
    neighbours: Option<Neighbours>,
    /// The way to end a look that the server does not answer.
    line: HangUp,
    stop: Stop,
}

pub(super) struct Observation {
    /// What the machine's sensors saw.
    pub sense: SenseRecord,
    pub server: Watched,
    /// Neighbours, where they can be seen.
    pub neighbours: Option<NeighbourRecord>,
    /// How long the server had left the last look unanswered when that was given up.
    pub silent: Option<Nanos>,
}

impl Observer {
    /// Begins with the warm-up, which lasts the delay of the plan.
    pub(super) fn start(plan: SensePlan, target: &Target, stop: &Stop) -> Result<Self, StudyError> {
        let clock = Clock::start();
        // Connected before the load begins, so that a full server still tells how it is.
        let control = Control::connect_until(target, stop)?;
        let line = control.hang_up();
        let stop = Stop::default();
        let cpus = plan.generator_cpus.clone().unwrap_or_default();
        let SensePlan { server_pid, delay: warm_up, duration: measure, .. } = plan;
        let watch = Watch { clock, stop: stop.clone(), warm_up, measure, cpus, server_pid };
        let server = thread::Builder::new()
            .name("watch".into())
            .spawn(move || watch.run(control))
            .map_err(|source| StudyError::Start { what: "a thread", source })?;
        let neighbours = neighbour_plan(&plan).map(Neighbours::start).transpose()?;
        Ok(Self { sampler: Sampler::start(plan)?, server, neighbours, line, stop })
    }

    /// How long the server had been silent when it was found to answer nobody, in the middle of the run.
    pub(super) fn silence(&self) -> Option<Nanos> {
        match self.line.cut() {
            Some(TargetError::Silent { seconds, .. }) => Some(Nanos::from_secs(seconds)),
            _ => None,
        }
    }

    /// Ends both, early if need be; `stop` is that of the whole study.
    pub(super) fn finish(self, stop: &Stop) -> Observation {
        self.stop.set();
        let clock = Clock::start();
        let mut silent = None;
        while !self.server.is_finished() {
            if silent.is_none() && (stop.is_set() || clock.now() >= LAST_LOOK) {
                silent = self.line.silent_for();
                self.line.hang_up();
            }
            thread::sleep(Duration::from_millis(10));
        }
        let server = self.server.join().unwrap_or_default();
        let neighbours = self.neighbours.map(Neighbours::finish);
        Observation { sense: self.sampler.finish(), server, neighbours, silent }
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
        stretch: stretches::LENGTH,
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
