//! Who watches a run while its load goes on.

use super::StudyError;
use super::length::Phases;
use super::observe::{Glance, Observer};
use super::site::Ready;
use super::spec::StudySpec;
use evenkeel_core::Nanos;
use evenkeel_lab::load::{LoadPhase, LoadProgress};
use evenkeel_os::clock::monotonic;
use evenkeel_os::stop::Stop;
use evenkeel_sense::cpu::Domain;
use evenkeel_sense::sampler::SensePlan;
use evenkeel_site::elsewhere;
use evenkeel_site::server::TargetError;

/// All who watch a run, from its first progress on.
pub(super) struct Eyes<'a> {
    spec: &'a StudySpec,
    phases: Phases,
    ready: &'a Ready,
    stop: Stop,
    pub observer: Option<Observer>,
    /// Who sees the server from elsewhere.
    pub watch: Option<elsewhere::Watch>,
    glance: Glance,
    pub failed: Option<StudyError>,
}

impl<'a> Eyes<'a> {
    pub(super) fn new(spec: &'a StudySpec, phases: Phases, ready: &'a Ready, stop: &Stop) -> Self {
        let glance = Glance::new(ready.server_pid.map(Domain::Process).or(ready.domain.clone()));
        let (observer, watch, failed) = (None, None, None);
        Self { spec, phases, ready, stop: stop.clone(), observer, watch, glance, failed }
    }

    /// Takes in how far the load is, and says what the server uses of its CPUs just now.
    pub(super) fn look(&mut self, progress: &LoadProgress) -> Option<f64> {
        let is_due = self.observer.is_none() && self.failed.is_none() && progress.phase != LoadPhase::Opening;
        if is_due && let Err(error) = self.open(self.phases.warm_up - progress.elapsed) {
            self.give_up(error);
        }
        if let Some(silent) = self.observer.as_ref().and_then(Observer::silence) {
            let address = self.ready.target.address.to_string();
            self.give_up(TargetError::silent(address, silent).into());
        }
        match &self.watch {
            Some(watch) => watch.theta_percent(),
            None => self.glance.theta_percent(),
        }
    }

    /// Who sees the server from elsewhere begins with the load, as the observers of this machine do.
    fn open(&mut self, warm_up: Nanos) -> Result<(), StudyError> {
        let (ready, measure) = (self.ready, self.phases.measure);
        let cpus = self.spec.generator_cpus.iter().filter_map(|&cpu| u32::try_from(cpu).ok());
        let plan = SensePlan {
            domain: ready.domain.clone(),
            server_pid: ready.server_pid,
            generator_cpus: Some(cpus.collect()),
            data_dir: ready.data_dir.clone(),
            delay: warm_up,
            duration: measure,
            counters: false,
        };
        self.observer = Some(Observer::start(plan, &ready.target, &self.stop)?);
        let begins = monotonic() + warm_up;
        self.watch = ready.elsewhere.as_ref().map(|elsewhere| elsewhere.watch(begins, begins + measure));
        Ok(())
    }

    fn give_up(&mut self, error: StudyError) {
        self.failed.get_or_insert(error);
        self.stop.set();
    }
}
