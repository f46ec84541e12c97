//! One run on a cold server.

use super::ledger::Ledger;
use super::length::phases;
use super::measure::{Measured, RunOrder, measure};
use super::run::Study;
use super::site::{self, Ready, Setting};
use super::spec::Reset;
use super::{StudyError, StudyEvent};
use crate::harness::Course;
use crate::store::format::CellRecord;
use crate::store::{self, attempt_name, run_name, write_tables};
use evenkeel_lab::load::ArrivalPlan;
use std::sync::Arc;

impl Study<'_> {
    /// Makes an attempt at a run of a cell, and keeps it.
    pub(super) fn attempt(&mut self, cell: &CellRecord, repeat: u32, attempt: u32) -> Result<(), StudyError> {
        let (order, runs) = (self.next_order(), self.runs_in_all(attempt));
        let (series, time_left) = (self.plan.series[cell.series].label.clone(), self.time_left());
        (self.tell)(StudyEvent::RunBegins {
            cell: cell.clone(),
            series,
            repeat,
            attempt,
            order,
            runs,
            time_left,
        });
        let name = attempt_name(&run_name(cell.id, repeat), attempt);
        let kept = self.measured(cell, (repeat, attempt, order), &name).and_then(|run| self.keep(run, &name));
        if kept.is_err() {
            self.folder.abandon_run(&name);
        }
        kept
    }

    pub(super) fn next_order(&self) -> u32 {
        u32::try_from(self.runs.len()).unwrap_or(u32::MAX).saturating_add(self.attempts_set_aside() + 1)
    }

    /// Runs in all, with those that were made again and this attempt, as far as known.
    pub(super) fn runs_in_all(&self, attempt: u32) -> u32 {
        self.runs_planned().saturating_add(self.attempts_set_aside() + u32::from(attempt > 1))
    }

    fn measured(
        &mut self,
        cell: &CellRecord,
        (repeat, attempt, order): (u32, u32, u32),
        name: &str,
    ) -> Result<Measured, StudyError> {
        let site = self.spec.series[cell.series].site;
        let ready = self.cold_server(cell)?;
        self.folder.begin_run(name)?;
        let order = RunOrder {
            cell,
            repeat,
            attempt,
            order,
            workload: Arc::clone(&self.spec.series[cell.series].workload),
            arrivals: ArrivalPlan::Poisson(cell.rate_per_s),
            phases: phases(self.spec, cell, &self.plan.probes),
            is_cold: !matches!(self.spec.reset, Reset::Nothing),
            together: None,
            ledger: (ready.of_others && self.spec.series[cell.series].may_write())
                .then_some(Ledger(self.folder)),
        };
        let measured = measure(self.spec, &order, &ready, self.stop, self.tell);
        // A server that died explains whatever else went wrong.
        self.sites[site].check()?;
        if measured.as_ref().is_err_and(StudyError::is_silence) {
            self.sites[site].give_up();
        }
        let down = match self.spec.reset {
            Reset::Nothing => Ok(()),
            Reset::Full | Reset::Command(_) => self.sites[site].down(self.tell),
        };
        let measured = measured?.ok_or(StudyError::Stopped)?;
        down?;
        Ok(measured)
    }

    /// The server of a cell, reset as the study asks for, and no other private server beside it.
    fn cold_server(&mut self, cell: &CellRecord) -> Result<Ready, StudyError> {
        let series = &self.spec.series[cell.series];
        for (index, site) in self.sites.iter_mut().enumerate() {
            if index != series.site {
                site.down(self.tell)?;
            }
        }
        let writes = series.writes();
        let site = &mut self.sites[series.site];
        site.reset(&self.spec.reset, writes, self.stop, self.tell)?;
        let setting = Setting { pool: self.plan.series[cell.series].pool_bytes, disk: series.disk };
        let ready = site.up(setting, self.stop, self.tell)?;
        if writes {
            site::mark_written(&ready.target, self.stop)?;
        }
        Ok(ready)
    }

    fn keep(&mut self, measured: Measured, name: &str) -> Result<(), StudyError> {
        let Measured { mut run, load, sense } = measured;
        run.caveats.extend_from_slice(&self.caveats);
        self.folder.finish_run(name, &run, |dir| write_tables(dir, &load, &sense))?;
        store::add(&mut self.runs, run.clone());
        store::lateness::judge(&mut self.runs);
        self.summary()?;
        (self.tell)(StudyEvent::RunEnds(Box::new(run)));
        Ok(())
    }
}
