//! What happened around a run: what neighbours took of the server's CPUs, and what the run brought while they took nothing.

use super::StudyError;
use super::judge::{Glance, Observer};
use super::length::Phases;
use super::site::Ready;
use super::spec::StudySpec;
use crate::store::format::NeighboursRecord;
use evenkeel_core::Nanos;
use evenkeel_core::bounds::stretches::{self, Around, SECONDS};
use evenkeel_lab::load::{LoadPhase, LoadProgress, LoadResult, Stretch};
use evenkeel_os::Stop;
use evenkeel_os::clock::monotonic;
use evenkeel_sense::cpu::CpuOf;
use evenkeel_sense::neighbours::NeighbourRecord;
use evenkeel_sense::sampler::{SensePlan, SenseSample};
use evenkeel_site::elsewhere;
use evenkeel_site::server::TargetError;

/// The stretches that nobody disturbed, chosen by what happened around them alone; `None` where neighbours cannot be seen.
pub(super) fn neighbours(load: &LoadResult, seen: &NeighbourRecord) -> Option<NeighboursRecord> {
    let taken = seen.taken?;
    let around: Vec<Around> =
        load.stretches.iter().enumerate().map(|(place, own)| at(seen, place, own)).collect();
    let free = stretches::free(&around);
    let count = free.iter().filter(|free| **free).count() as f64;
    let chosen = || free.iter().zip(load.stretches.iter().zip(&around)).filter(|(free, _)| **free);
    let responses: u64 = chosen().map(|(_, (own, _))| own.responses).sum();
    let response_sum = chosen().fold(Nanos::ZERO, |sum, (_, (own, _))| sum + own.response_sum);
    // The errors of single stretches cancel in the mean, which may still come out below zero by chance.
    let left: f64 =
        chosen().filter_map(|(_, (_, around))| around.taken).map(|taken| taken + seen.error).sum();
    Some(NeighboursRecord {
        cpus: seen.cpus,
        taken_percent: 100.0 * taken.clamp(0.0, 1.0),
        clear_s: count * SECONDS,
        clear_completed: chosen().map(|(_, (own, _))| own.completed).sum(),
        clear_taken_percent: 100.0 * (left / count.max(1.0)).clamp(0.0, 1.0),
        clear_tau_ms: (responses > 0).then(|| response_sum.as_millis_f64() / responses as f64),
        held_by_quota_percent: seen.throttling.held.map(|held| 100.0 * held),
        quota_cpus: seen.throttling.quota_cpus,
        slowed_by_heat: seen.throttling.heat,
        clock_percent: seen.throttling.clock.map(|clock| 100.0 * clock),
    })
}

/// What neighbours took of another machine, from its CPUs and its server's over a whole run: no stretch is known to be free
/// there, so that what was taken can be handed back and nothing else. Interrupts are not called taken: on a machine whose clients
/// are elsewhere most of them carry the server's own requests, and what the server needs nobody can hand back.
pub(super) fn of_machine(whole: &SenseSample) -> Option<NeighboursRecord> {
    let (machine, server) = (whole.domain.as_ref()?, whole.server.as_ref()?);
    let used = machine.total - machine.irq.unwrap_or(0.0) + machine.steal.unwrap_or(0.0);
    let own = server.total * server.capacity / machine.capacity;
    let taken_percent = (used - own).clamp(0.0, 100.0);
    let found = NeighboursRecord { cpus: machine.capacity, taken_percent, ..NeighboursRecord::default() };
    taken_percent.is_finite().then_some(found)
}

/// What is known of one stretch. A single one errs by the kernel's ticks, so that much is forgiven it.
fn at(seen: &NeighbourRecord, place: usize, own: &Stretch) -> Around {
    let taken = seen.stretches.get(place).and_then(|stretch| stretch.taken);
    Around { taken: taken.map(|taken| taken - seen.error), pause: Some(own.lag_max.as_secs_f64()) }
}

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
        let glance = Glance::new(ready.server_pid.map(CpuOf::Process).or(ready.domain.clone()));
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

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_sense::cpu::CpuUse;
    use evenkeel_sense::neighbours::Stretch as Seen;

    fn seen(taken: &[f64]) -> NeighbourRecord {
        let stretches: Vec<Seen> = taken.iter().map(|taken| Seen { taken: Some(*taken) }).collect();
        let mean = taken.iter().sum::<f64>() / taken.len() as f64;
        NeighbourRecord { stretches, error: 0.1, taken: Some(mean), cpus: 1.0, ..NeighbourRecord::default() }
    }

    fn load(stretches: usize) -> LoadResult {
        let one = Stretch {
            completed: 20,
            responses: 10,
            response_sum: Nanos::from_millis(50),
            lag_max: Nanos::from_micros(80),
        };
        LoadResult { stretches: vec![one; stretches], ..evenkeel_lab::load::nothing_measured() }
    }

    #[test]
    fn what_was_brought_beside_a_burst_is_left_out_with_its_guard_band() {
        // The ticks of the kernel make a share of a tenth of what nobody took.
        let found = neighbours(&load(6), &seen(&[0.0, 0.1, 0.0, 0.9, 0.0, 0.02])).unwrap();
        assert_eq!((found.clear_completed, found.clear_tau_ms), (60, Some(5.0)));
        assert!((found.clear_s - 0.3).abs() < 1e-9 && (found.taken_percent - 17.0).abs() < 0.01, "{found:?}");
        assert!((found.clear_taken_percent - 4.0).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn a_pause_of_the_generator_and_stretches_that_nobody_saw_are_left_out_too() {
        let mut late = load(3);
        late.stretches[0].lag_max = Nanos::from_millis(20);
        assert_eq!(neighbours(&late, &seen(&[0.0, 0.0, 0.0])).unwrap().clear_completed, 20);
        assert_eq!(neighbours(&load(5), &seen(&[0.0, 0.0])).unwrap().clear_completed, 20);
        assert_eq!(neighbours(&load(3), &NeighbourRecord::default()), None);
    }

    #[test]
    fn of_another_machine_all_counts_that_is_not_the_server_s() {
        let used = |total: f64, steal: f64, capacity: f64| CpuUse {
            total,
            steal: Some(steal),
            capacity,
            ..CpuUse::default()
        };
        let mut whole = SenseSample {
            domain: Some(used(60.0, 5.0, 4.0)),
            server: Some(used(100.0, 0.0, 2.0)),
            ..SenseSample::default()
        };
        let found = of_machine(&whole).unwrap();
        assert!((found.taken_percent - 15.0).abs() < 1e-9 && found.cpus == 4.0, "{found:?}");
        assert_eq!(of_machine(&SenseSample::default()), None);
        whole.domain.as_mut().unwrap().irq = Some(9.0);
        let found = of_machine(&whole).unwrap();
        assert!((found.taken_percent - 6.0).abs() < 1e-9, "interrupts are the server's own: {found:?}");
    }
}
