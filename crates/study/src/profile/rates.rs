//! The rates of a study: searched, laid out, and gone through upwards until the server carries no more.

use super::event::Tell;
use super::run::Study;
use super::search::Search;
use super::{StudyError, StudyEvent, judge, order, site, summary};
use crate::store::format::{CellRecord, ProbeRecord, RunFile, SweepRecord};
use evenkeel_core::rates::{CellOutcome, RatePlan, Sweep, SweepEnd};
use std::sync::Arc;

/// The way up of series that differ in the target alone: targets are compared rate by rate, so they share their
/// rates, and where one of them carries no more the sweep ends for all.
struct Climb {
    series: Vec<usize>,
    sweep: Sweep,
}

impl Study<'_> {
    /// The cells of every series. Found rates stand in the plan before those of the next series are searched, so
    /// that a kill loses one search at most.
    pub(super) fn find_rates(&mut self, tell: Tell<'_>) -> Result<(), StudyError> {
        let mut climbs = Vec::new();
        for series in summary::groups(&self.plan) {
            if self.plan.sweeps.iter().any(|ended| ended.series == series) {
                continue;
            }
            let sweep = self.sweep(&series, tell)?;
            for &rate in sweep.left() {
                for one in &series {
                    order::cell_of(&mut self.plan, *one, rate);
                }
            }
            self.folder.write_plan(&self.plan)?;
            climbs.push(Climb { series, sweep });
        }
        // Steps have no last rate but the one that ends them.
        if !self.spec.whole_sweep || matches!(self.spec.rates, RatePlan::Steps { .. }) {
            self.tell_plan(tell);
            self.climb(climbs, tell)?;
        }
        self.plan.rates_known = true;
        Ok(self.folder.write_plan(&self.plan)?)
    }

    /// A sweep from its lowest rate. Rates that were laid out before a stop are taken from the plan.
    fn sweep(&mut self, series: &[usize], tell: Tell<'_>) -> Result<Sweep, StudyError> {
        let (rates, ceiling) = (&self.spec.rates, self.spec.theta_ceiling_percent);
        let cells = self.plan.cells.iter().filter(|cell| series.contains(&cell.series));
        let known: Vec<f64> = cells.map(|cell| cell.rate_per_s).collect();
        let is_open_ended = matches!(rates, RatePlan::Steps { .. });
        if !known.is_empty() && !is_open_ended {
            return Ok(rates.sweep_through(&known, ceiling)?);
        }
        let saturation = match rates.needs_saturation() {
            true => Some(self.lowest_saturation(series, tell)?),
            false => None,
        };
        Ok(rates.sweep(saturation, ceiling)?)
    }

    pub(super) fn lowest_saturation(&mut self, series: &[usize], tell: Tell<'_>) -> Result<f64, StudyError> {
        let mut lowest = f64::INFINITY;
        for one in series {
            lowest = lowest.min(self.search(*one, tell)?);
        }
        Ok(lowest)
    }

    /// Goes up rate by rate, through all series side by side, so that what drifts with time meets them alike; the
    /// cells of a step are in random order. Each run is the first repeat of its cell, so that this is the first
    /// block.
    fn climb(&mut self, mut climbs: Vec<Climb>, tell: Tell<'_>) -> Result<(), StudyError> {
        for step in 1.. {
            let cells = self.cells_of_step(&climbs);
            if cells.is_empty() {
                break;
            }
            self.folder.write_plan(&self.plan)?;
            let mut outcomes = Vec::new();
            for cell in order::block(&cells, self.spec.seed.child("climb"), step) {
                outcomes.push((cell.series, self.outcome(&cell, tell)?));
            }
            for climb in &mut climbs {
                let own = outcomes.iter().filter(|(series, _)| climb.series.contains(series));
                if let Some(outcome) = own.map(|(_, outcome)| *outcome).reduce(worse) {
                    climb.sweep.observe(&outcome);
                }
                if let Some(end) = climb.sweep.end() {
                    self.end(climb, end, tell)?;
                }
            }
            climbs.retain(|climb| climb.sweep.end().is_none());
        }
        Ok(())
    }

    fn cells_of_step(&mut self, climbs: &[Climb]) -> Vec<CellRecord> {
        let mut cells = Vec::new();
        for climb in climbs {
            let Some(rate) = climb.sweep.rate() else { continue };
            let own = climb.series.iter().map(|series| order::cell_of(&mut self.plan, *series, rate));
            cells.extend(own);
        }
        cells
    }

    /// One run may be called unstable by chance, so a second one has to agree.
    fn outcome(&mut self, cell: &CellRecord, tell: Tell<'_>) -> Result<CellOutcome, StudyError> {
        let fails = |run: &RunFile| !judge::kept_up(run) || judge::refused(run);
        let mut run = self.cell(cell, 1, tell)?;
        if fails(&run) && self.spec.repeats > 1 {
            run = self.cell(cell, 2, tell)?;
        }
        Ok(CellOutcome {
            utilisation: run.theta.as_ref().map(|theta| theta.total_percent),
            settled: judge::kept_up(&run),
            refused: judge::refused(&run),
        })
    }

    /// The cell that ended the sweep stays with all its repeats; those above leave the plan.
    fn end(&mut self, climb: &Climb, end: SweepEnd, tell: Tell<'_>) -> Result<(), StudyError> {
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
        self.folder.write_plan(&self.plan)?;
        if end != SweepEnd::AllMeasured {
            let labels = climb.series.iter().map(|one| self.plan.series[*one].label.clone());
            tell(StudyEvent::SweepEnds {
                series: labels.collect::<Vec<_>>().join(", "),
                reason: end.to_string(),
                not_measured: above,
            });
        }
        Ok(())
    }

    fn search(&mut self, series: usize, tell: Tell<'_>) -> Result<f64, StudyError> {
        let spec = &self.spec.series[series];
        let label = self.plan.series[series].label.clone();
        tell(StudyEvent::Preparing(format!("searching the saturation of {label}")));
        let site = &mut self.sites[spec.site];
        site.reset(&self.spec.reset, spec.writes(), self.stop, tell)?;
        let ready = site.up(self.plan.series[series].pool_bytes, self.stop, tell)?;
        if spec.writes() {
            site::mark_written(&ready.target, self.stop)?;
        }
        let mut search = Search {
            spec: self.spec,
            series,
            label: &label,
            workload: Arc::clone(&spec.workload),
            ready: &ready,
            stop: self.stop,
            tell,
            probes: Vec::new(),
        };
        let found = search.saturation();
        let probes: Vec<ProbeRecord> = std::mem::take(&mut search.probes);
        self.plan.probes.extend(probes);
        let down = self.sites[spec.site].down(tell);
        let saturation = found?;
        down?;
        Ok(saturation)
    }
}

/// What two targets brought at one rate, as what ends the sweep for both.
fn worse(one: CellOutcome, other: CellOutcome) -> CellOutcome {
    CellOutcome {
        utilisation: one.utilisation.into_iter().chain(other.utilisation).reduce(f64::max),
        settled: one.settled && other.settled,
        refused: one.refused || other.refused,
    }
}
