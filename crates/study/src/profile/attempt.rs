//! One run on a cold server, and one more attempt at it where something from outside disturbed it.

use super::event::Tell;
use super::measure::{Measured, SENSE_COLUMNS, measure};
use super::run::Study;
use super::run_order::{RunOrder, arrivals};
use super::site::{self, Ready};
use super::spec::Reset;
use super::{StudyError, StudyEvent, summary};
use crate::store::format::{CellRecord, RunFile};
use crate::store::{self, RunTables, attempt_name, run_name};
use evenkeel_core::disturbance::{Disturbance, repeats_allowed};
use std::sync::Arc;

impl Study<'_> {
    /// One run; one that is finished already is not made again.
    pub(super) fn cell(
        &mut self,
        cell: &CellRecord,
        repeat: u32,
        tell: Tell<'_>,
    ) -> Result<RunFile, StudyError> {
        match self.finished(cell, repeat) {
            Some(run) => Ok(run.clone()),
            None => self.attempt(cell, repeat, 1, tell),
        }
    }

    /// The runs of a block that were disturbed from outside, once more and after all others; of the attempts at a
    /// run the least disturbed stands. What was measured has no part in it.
    pub(super) fn measure_again(
        &mut self,
        cells: &[CellRecord],
        block: u32,
        tell: Tell<'_>,
    ) -> Result<(), StudyError> {
        for _ in 0..self.spec.retries {
            for (cell, because) in self.disturbed(cells, block) {
                let attempts = self.finished(&cell, block).map_or(0, |run| 1 + run.set_aside.len());
                let attempt = u32::try_from(attempts + 1).unwrap_or(u32::MAX);
                tell(StudyEvent::MeasuredAgain {
                    series: self.plan.series[cell.series].label.clone(),
                    cell: cell.clone(),
                    repeat: block,
                    attempt,
                    order: self.next_order(),
                    runs: self.runs_in_all(attempt),
                    because,
                });
                self.attempt(&cell, block, attempt, tell)?;
            }
        }
        Ok(())
    }

    /// The most disturbed runs of a block, as many as may be measured again by its end, in the order of the block.
    fn disturbed(&self, cells: &[CellRecord], block: u32) -> Vec<(CellRecord, Disturbance)> {
        let allowed = repeats_allowed(self.runs_planned(), block, self.spec.repeats);
        let left = allowed.saturating_sub(self.attempts_set_aside()) as usize;
        let tries_left = |run: &RunFile| run.set_aside.len() < self.spec.retries as usize;
        let mut found: Vec<(usize, CellRecord, Disturbance)> = Vec::new();
        for (place, cell) in cells.iter().enumerate() {
            let run = self.finished(cell, block).filter(|run| tries_left(run));
            if let Some(because) = run.map(RunFile::disturbance).filter(Disturbance::is_too_large) {
                found.push((place, cell.clone(), because));
            }
        }
        found.sort_by(|(.., one), (.., other)| other.weight().total_cmp(&one.weight()));
        found.truncate(left);
        found.sort_by_key(|(place, ..)| *place);
        found.into_iter().map(|(_, cell, because)| (cell, because)).collect()
    }

    fn finished(&self, cell: &CellRecord, repeat: u32) -> Option<&RunFile> {
        self.runs.iter().find(|run| (run.cell, run.repeat) == (cell.id, repeat))
    }

    fn attempts_set_aside(&self) -> u32 {
        u32::try_from(self.runs.iter().map(|run| run.set_aside.len()).sum::<usize>()).unwrap_or(u32::MAX)
    }

    /// Place of the next attempt in the order of all.
    fn next_order(&self) -> u32 {
        u32::try_from(self.runs.len()).unwrap_or(u32::MAX).saturating_add(self.attempts_set_aside() + 1)
    }

    /// Runs in all, with those that were made again and this attempt, as far as known.
    fn runs_in_all(&self, attempt: u32) -> u32 {
        self.runs_planned().saturating_add(self.attempts_set_aside() + u32::from(attempt > 1))
    }

    fn attempt(
        &mut self,
        cell: &CellRecord,
        repeat: u32,
        attempt: u32,
        tell: Tell<'_>,
    ) -> Result<RunFile, StudyError> {
        if self.stop.is_set() {
            return Err(StudyError::Stopped);
        }
        let order = self.next_order();
        tell(StudyEvent::RunBegins {
            cell: cell.clone(),
            series: self.plan.series[cell.series].label.clone(),
            repeat,
            attempt,
            order,
            runs: self.runs_in_all(attempt),
            time_left: self.time_left(),
        });
        let measured = self.measured(cell, (repeat, attempt, order), tell);
        let kept = measured.and_then(|measured| self.keep(measured, tell));
        if kept.is_err() {
            self.folder.abandon_run(&attempt_name(&run_name(cell.id, repeat), attempt));
        }
        kept
    }

    fn measured(
        &mut self,
        cell: &CellRecord,
        (repeat, attempt, order): (u32, u32, u32),
        tell: Tell<'_>,
    ) -> Result<Measured, StudyError> {
        let site = self.spec.series[cell.series].site;
        let ready = self.cold_server(cell, tell)?;
        let part = self.folder.begin_run(&attempt_name(&run_name(cell.id, repeat), attempt))?;
        let phases = self.phases(cell);
        let order = RunOrder {
            cell,
            repeat,
            attempt,
            order,
            workload: Arc::clone(&self.spec.series[cell.series].workload),
            arrivals: arrivals(self.spec.process, cell.rate_per_s),
            warm_up: phases.warm_up,
            measure: phases.measure,
            request_log: self.spec.request_log.then(|| part.join("requests.csv.zst")),
        };
        let measured = measure(self.spec, &order, &ready, self.stop, tell);
        // A server that died explains whatever else went wrong.
        self.sites[site].check()?;
        if measured.as_ref().is_err_and(StudyError::is_silence) {
            self.sites[site].give_up();
        }
        let down = match self.spec.reset {
            Reset::Nothing => Ok(()),
            Reset::Full | Reset::Command(_) => self.sites[site].down(tell),
        };
        let measured = measured?.ok_or(StudyError::Stopped)?;
        down?;
        Ok(measured)
    }

    /// The server of a cell, reset as the study asks for, and no other private server beside it.
    fn cold_server(&mut self, cell: &CellRecord, tell: Tell<'_>) -> Result<Ready, StudyError> {
        let series = &self.spec.series[cell.series];
        for (index, site) in self.sites.iter_mut().enumerate() {
            if index != series.site {
                site.down(tell)?;
            }
        }
        let writes = series.writes();
        let site = &mut self.sites[series.site];
        site.reset(&self.spec.reset, writes, self.stop, tell)?;
        let ready = site.up(self.plan.series[cell.series].pool_bytes, self.stop, tell)?;
        if writes {
            site::mark_written(&ready.target, self.stop)?;
        }
        Ok(ready)
    }

    fn keep(&mut self, measured: Measured, tell: Tell<'_>) -> Result<RunFile, StudyError> {
        let Measured { mut run, load, rows } = measured;
        run.caveats.extend_from_slice(&self.caveats);
        let tables = RunTables { load: &load, sense_columns: SENSE_COLUMNS.to_vec(), sense: rows };
        let name = attempt_name(&run_name(run.cell, run.repeat), run.attempt);
        self.folder.finish_run(&name, &run, |dir| tables.write(dir))?;
        store::add(&mut self.runs, run.clone());
        self.folder.write_summary(&summary::summarise(&self.plan, &self.runs))?;
        tell(StudyEvent::RunEnds(Box::new(run.clone())));
        Ok(run)
    }
}
