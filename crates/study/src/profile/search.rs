//! Finding the saturation of a series before its rates are laid around it.

use super::judge;
use super::ledger::Ledger;
use super::length::Phases;
use super::measure::{Measured, RunOrder, measure};
use super::site::Ready;
use super::spec::StudySpec;
use super::{StudyError, StudyEvent};
use crate::store::StudyFolder;
use crate::store::format::{CellRecord, ProbeRecord};
use evenkeel_core::Nanos;
use evenkeel_core::rates::{ProbeOutcome, RateSearch, SearchStep};
use evenkeel_lab::load::ArrivalPlan;
use evenkeel_lab::workload::Workload;
use evenkeel_os::stop::Stop;
use std::sync::Arc;

/// Clients of the closed probe: enough to keep a server of a few dozen CPUs busy, few enough not to thrash.
const CLOSED_CLIENTS: u32 = 16;

/// Probes get cell numbers of their own, far from those of the plan, so that their seeds are their own.
const PROBE_CELLS: u32 = 1_000_000;

/// A probe lasts this long at most, however long the runs are.
const PROBE_MAX: Nanos = Nanos::from_secs(4);

/// A step of a gentle search lasts this long where no limit is in sight, from this rate on.
const PROBE_STEP: Nanos = Nanos::from_secs(2);
const STEP_RATE: f64 = 40.0;

pub(super) struct Search<'a> {
    pub spec: &'a StudySpec,
    pub series: usize,
    pub label: &'a str,
    pub workload: Arc<dyn Workload>,
    pub ready: &'a Ready,
    pub stop: &'a Stop,
    pub tell: &'a mut dyn FnMut(StudyEvent),
    pub probes: Vec<ProbeRecord>,
    /// Where what is written is counted.
    pub ledger: Option<&'a StudyFolder>,
}

impl Search<'_> {
    /// The saturation, requests per second; the probes stand in `probes`.
    pub(super) fn saturation(&mut self) -> Result<f64, StudyError> {
        // A study that chooses its runs one by one goes on from anywhere near.
        let rough = self.spec.budget.is_some();
        let mut search = if self.ready.of_others { RateSearch::gently(rough) } else { self.closed(rough)? };
        loop {
            match search.next() {
                SearchStep::Probe(rate) => {
                    let outcome = self.probe(ArrivalPlan::Poisson(rate), Some(rate))?;
                    search.observe(&outcome);
                }
                SearchStep::Found(found) => return Ok(found.rate),
                SearchStep::Failed(source) => {
                    return Err(StudyError::Search { series: self.label.to_owned(), source });
                }
            }
        }
    }

    /// A private server is asked at full speed at once.
    fn closed(&mut self, rough: bool) -> Result<RateSearch, StudyError> {
        let closed = self.probe(ArrivalPlan::Closed { clients: CLOSED_CLIENTS, think: None }, None)?;
        Ok(match rough {
            true => RateSearch::roughly_from(closed.throughput),
            false => RateSearch::from_closed_estimate(closed.throughput),
        })
    }

    fn probe(&mut self, arrivals: ArrivalPlan, rate: Option<f64>) -> Result<ProbeOutcome, StudyError> {
        let number = u32::try_from(self.series * 100 + self.probes.len()).unwrap_or(0);
        let cell = CellRecord {
            id: PROBE_CELLS + number,
            series: self.series,
            rate_per_s: rate.unwrap_or_default(),
        };
        // On the way up so many requests tell enough.
        let is_up = self.probes.iter().all(|probe| probe.settled);
        let is_step = self.ready.of_others && is_up && rate.is_some_and(|rate| rate >= STEP_RATE);
        let order = RunOrder {
            cell: &cell,
            repeat: 1,
            attempt: 1,
            order: 0,
            workload: Arc::clone(&self.workload),
            arrivals,
            phases: Phases {
                warm_up: self.spec.warm_up.min(Nanos::from_secs(1)),
                measure: self.spec.duration.min(if is_step { PROBE_STEP } else { PROBE_MAX }),
            },
            is_cold: false,
            together: None,
            ledger: self.ledger.filter(|_| self.ready.of_others).map(Ledger),
        };
        let Some(measured) = measure(self.spec, &order, self.ready, self.stop, self.tell)? else {
            return Err(StudyError::Stopped);
        };
        let outcome = outcome(&measured, rate);
        let record = ProbeRecord {
            series: self.series,
            rate_per_s: rate,
            throughput_per_s: outcome.throughput,
            theta_percent: outcome.utilisation,
            settled: outcome.settled,
        };
        (self.tell)(StudyEvent::Probed(record.clone()));
        self.probes.push(record);
        Ok(outcome)
    }
}

fn outcome(measured: &Measured, rate: Option<f64>) -> ProbeOutcome {
    let counts = &measured.load.counts;
    let lost = counts.arrivals.saturating_sub(counts.completed);
    let offered = counts.arrivals as f64 / measured.run.measured_s;
    ProbeOutcome {
        rate: rate.unwrap_or(offered),
        offered,
        throughput: measured.run.throughput_per_s,
        utilisation: measured.run.theta.as_ref().map(|theta| theta.total_percent),
        settled: !judge::stability(&measured.load).is_unstable(),
        response: measured.run.response.mean_ms / 1e3,
        lost: lost as f64 / counts.arrivals.max(1) as f64,
    }
}
