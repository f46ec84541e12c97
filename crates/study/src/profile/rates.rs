//! The rates of a study: searched, laid out, and gone through upwards until the server carries no more.

use super::climb::{Climb, Climbs, fails};
use super::run::Study;
use super::{StudyError, StudyEvent, order, summary};
use crate::harness::Course;
use crate::store::format::{CellRecord, RunFile, SweepRecord};
use evenkeel_core::Nanos;
use evenkeel_core::caveat::threshold::{RUNS_MIN, SECONDS_MIN};
use evenkeel_core::rates::{RatePlan, Sweep, SweepEnd};

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
