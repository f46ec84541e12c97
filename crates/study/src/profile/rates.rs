//! The rates of a study: searched, laid out, and gone through upwards until the server carries no more.

use super::length::Phases;
use super::measure::{Measured, RunOrder, measure};
use super::order::{Climb, Climbs, fails};
use super::run::{Ledger, Study};
use super::site::Ready;
use super::{StudyError, StudyEvent, judge, order, summary};
use crate::harness::Course;
use crate::store::format::{CellRecord, ProbeRecord, RunFile, SweepRecord};
use evenkeel_core::Nanos;
use evenkeel_core::caveat::threshold::{RUNS_MIN, SECONDS_MIN};
use evenkeel_core::rates::{ProbeOutcome, RatePlan, RateSearch, SearchStep, Sweep, SweepEnd};
use evenkeel_lab::load::ArrivalPlan;
use std::sync::Arc;

impl Study<'_> {
    /// The next run on the way up; `None` where all rates are known. Each is a repeat of its cell, so that the way up is the
    /// first block.
    pub(super) fn next_of_climb(&mut self) -> Result<Option<(CellRecord, u32)>, StudyError> {
        if self.plan.rates_known {
            return Ok(None);
        }
        let mut climbs = match self.climbs.take() {
            Some(climbs) => climbs,
            None => self.lay_out()?,
        };
        loop {
            let cells = self.cells_of_step(&climbs)?;
            if cells.is_empty() {
                break;
            }
            if let Some(next) = cells.iter().find_map(|cell| Some((cell.clone(), self.deciding(cell).err()?)))
            {
                self.climbs = Some(climbs);
                return Ok(Some(next));
            }
            self.end_of_step(&mut climbs, cells)?;
        }
        self.plan.rates_known = true;
        self.folder.write("plan.json", &self.plan)?;
        Ok(None)
    }

    /// The cells of every series, and those series that go up through them. Found rates stand in the plan before those of the
    /// next series are searched, so that a kill loses one search at most.
    fn lay_out(&mut self) -> Result<Climbs, StudyError> {
        let mut open = Vec::new();
        for series in summary::groups(&self.plan) {
            if self.plan.sweeps.iter().any(|ended| ended.series == series) {
                continue;
            }
            let sweep = self.sweep(&series)?;
            for &rate in sweep.left() {
                for one in &series {
                    order::cell_of(&mut self.plan, *one, rate);
                }
            }
            self.folder.write("plan.json", &self.plan)?;
            open.push(Climb { series, sweep });
        }
        if self.spec.duration < Nanos::from_secs(SECONDS_MIN as u64) {
            (self.tell)(StudyEvent::Warning(format!(
                "runs below {SECONDS_MIN} s give response times, but do not show what the server carries: see --duration"
            )));
        }
        if u64::from(self.spec.repeats) < RUNS_MIN {
            (self.tell)(StudyEvent::Warning(format!(
                "fewer than {RUNS_MIN} runs of a rate give neither intervals nor bounds: see --repeats"
            )));
        }
        // Steps have no last rate but the one that ends them.
        match self.spec.whole_sweep && !matches!(self.spec.rates, RatePlan::Steps { .. }) {
            true => open.clear(),
            false => self.tell_plan(),
        }
        Ok(Climbs { open, step: 1 })
    }

    /// A sweep from its lowest rate. Rates that were laid out before a stop are taken from the plan.
    fn sweep(&mut self, series: &[usize]) -> Result<Sweep, StudyError> {
        let rates = &self.spec.rates;
        let cells = self.plan.cells.iter().filter(|cell| series.contains(&cell.series));
        let known: Vec<f64> = cells.map(|cell| cell.rate_per_s).collect();
        let is_open_ended = matches!(rates, RatePlan::Steps { .. });
        if !known.is_empty() && !is_open_ended {
            return Ok(rates.sweep_through(&known)?);
        }
        let saturation = match rates.needs_saturation() {
            true => Some(self.lowest_saturation(series)?),
            false => None,
        };
        Ok(rates.sweep(saturation)?)
    }

    pub(super) fn lowest_saturation(&mut self, series: &[usize]) -> Result<f64, StudyError> {
        let mut lowest = f64::INFINITY;
        for one in series {
            lowest = lowest.min(self.search(*one)?);
        }
        Ok(lowest)
    }

    /// The cells of the rate that is gone through, in random order.
    fn cells_of_step(&mut self, climbs: &Climbs) -> Result<Vec<CellRecord>, StudyError> {
        let known = self.plan.cells.len();
        let mut cells = Vec::new();
        for climb in &climbs.open {
            let Some(rate) = climb.sweep.rate() else { continue };
            cells.extend(climb.series.iter().map(|series| order::cell_of(&mut self.plan, *series, rate)));
        }
        if self.plan.cells.len() > known {
            self.folder.write("plan.json", &self.plan)?;
        }
        Ok(order::block(&cells, self.spec.seed.child("climb"), climbs.step))
    }

    /// The run that says how a cell ended, or the repeat that is to be made before. One run may be called unstable by chance, so
    /// a second one has to agree.
    fn deciding(&self, cell: &CellRecord) -> Result<&RunFile, u32> {
        let run = |repeat| self.finished(&(cell.clone(), repeat)).ok_or(repeat);
        match run(1)? {
            first if fails(first) && self.spec.repeats > 1 => run(2),
            first => Ok(first),
        }
    }

    /// All runs of a step are made: where a sweep goes on, and where it ends.
    fn end_of_step(&mut self, climbs: &mut Climbs, cells: Vec<CellRecord>) -> Result<(), StudyError> {
        let deciding = |cell: CellRecord| Some((cell.clone(), self.deciding(&cell).ok()?));
        let runs: Vec<_> = cells.into_iter().filter_map(deciding).collect();
        climbs.open.iter_mut().for_each(|climb| climb.observe(&runs));
        for climb in &climbs.open {
            if let Some(end) = climb.sweep.end() {
                self.end(climb, end)?;
            }
        }
        climbs.open.retain(|climb| climb.sweep.end().is_none());
        climbs.step += 1;
        Ok(())
    }

    /// The cell that ended the sweep stays with all its repeats; those above leave the plan.
    fn end(&mut self, climb: &Climb, end: SweepEnd) -> Result<(), StudyError> {
        let above = climb.sweep.left().to_vec();
        let is_above = |cell: &CellRecord| {
            climb.series.contains(&cell.series)
                && above.iter().any(|rate| order::is_same_rate(*rate, cell.rate_per_s))
        };
        self.plan.cells.retain(|cell| !is_above(cell));
        self.plan.sweeps.push(SweepRecord {
            series: climb.series.clone(),
            reason: end.to_string(),
            not_measured_per_s: above.clone(),
        });
        self.folder.write("plan.json", &self.plan)?;
        if end != SweepEnd::AllMeasured {
            let labels = climb.series.iter().map(|one| self.plan.series[*one].label.clone());
            (self.tell)(StudyEvent::SweepEnds {
                series: labels.collect::<Vec<_>>().join(", "),
                reason: end.to_string(),
                not_measured: above,
            });
        }
        Ok(())
    }
}

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
        (self.tell)(StudyEvent::Preparing(format!("searching for the highest rate of {label}")));
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
