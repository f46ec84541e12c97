//! Finding the saturation of a series before its rates are laid around it.

use super::length::Phases;
use super::measure::{Measured, RunOrder, measure};
use super::run::{Ledger, Study};
use super::site::Ready;
use super::{StudyError, StudyEvent, judge};
use crate::store::format::{CellRecord, ProbeRecord};
use evenkeel_core::Nanos;
use evenkeel_core::rates::{ProbeOutcome, RateSearch, SearchStep};
use evenkeel_lab::load::ArrivalPlan;
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

impl Study<'_> {
    /// Finds the saturation of a series, requests per second; the probes stand in the plan.
    pub(super) fn search(&mut self, series: usize) -> Result<f64, StudyError> {
        let label = &self.plan.series[series].label;
        (self.tell)(StudyEvent::Preparing(format!("searching for the saturation of {label}")));
        let ready = self.cold_server(series)?;
        let found = self.saturation(series, &ready);
        let down = self.sites[self.spec.series[series].site].down(self.tell);
        let saturation = found?;
        down?;
        Ok(saturation)
    }

    fn saturation(&mut self, series: usize, ready: &Ready) -> Result<f64, StudyError> {
        // A study that chooses its runs one by one goes on from anywhere near.
        let rough = self.spec.budget.is_some();
        let mut search = if ready.of_others {
            RateSearch::gently(rough)
        } else {
            // A private server is asked at full speed at once.
            let arrivals = ArrivalPlan::Closed { clients: CLOSED_CLIENTS, think: None };
            let closed = self.probe(series, ready, arrivals, None)?.throughput;
            if rough { RateSearch::roughly_from(closed) } else { RateSearch::from_closed_estimate(closed) }
        };
        loop {
            match search.next() {
                SearchStep::Probe(rate) => {
                    let outcome = self.probe(series, ready, ArrivalPlan::Poisson(rate), Some(rate))?;
                    search.observe(&outcome);
                }
                SearchStep::Found(found) => return Ok(found.rate),
                SearchStep::Failed(source) => {
                    return Err(StudyError::Search {
                        series: self.plan.series[series].label.clone(),
                        source,
                    });
                }
            }
        }
    }

    fn probe(
        &mut self,
        series: usize,
        ready: &Ready,
        arrivals: ArrivalPlan,
        rate: Option<f64>,
    ) -> Result<ProbeOutcome, StudyError> {
        let spec = &self.spec.series[series];
        let before = self.plan.probes.iter().filter(|probe| probe.series == series);
        // On the way up so many requests tell enough.
        let is_up = before.clone().all(|probe| probe.settled);
        let is_step = ready.of_others && is_up && rate.is_some_and(|rate| rate >= STEP_RATE);
        let number = u32::try_from(series * 100 + before.count()).unwrap_or(0);
        let cell = CellRecord { id: PROBE_CELLS + number, series, rate_per_s: rate.unwrap_or_default() };
        let order = RunOrder {
            cell: &cell,
            repeat: 1,
            attempt: 1,
            order: 0,
            workload: Arc::clone(&spec.workload),
            arrivals,
            phases: Phases {
                warm_up: self.spec.warm_up.min(Nanos::from_secs(1)),
                measure: self.spec.duration.min(if is_step { PROBE_STEP } else { PROBE_MAX }),
            },
            is_cold: false,
            together: None,
            ledger: (ready.of_others && spec.may_write()).then_some(Ledger(self.folder)),
        };
        let measured = measure(self.spec, &order, ready, self.stop, self.tell)?;
        let outcome = outcome(&measured.ok_or(StudyError::Stopped)?, rate);
        let record = ProbeRecord {
            series,
            rate_per_s: rate,
            throughput_per_s: outcome.throughput,
            theta_percent: outcome.utilisation,
            settled: outcome.settled,
        };
        (self.tell)(StudyEvent::Probed(record.clone()));
        self.plan.probes.push(record);
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
