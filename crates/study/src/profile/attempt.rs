//! One run on a cold server.

use super::length::phases;
use super::measure::{Measured, RunOrder, measure};
use super::run::{Ledger, Study};
use super::site::{Ready, Setting};
use super::spec::Reset;
use super::{RunPlace, StudyError, StudyEvent};
use crate::harness::Course;
use crate::store::format::CellRecord;
use crate::store::{self, attempt_name, run_name, write_tables};
use evenkeel_lab::load::ArrivalPlan;
use std::sync::Arc;

impl Study<'_> {
    /// Makes an attempt at a run of a cell, and keeps it.
    pub(super) fn attempt(&mut self, cell: &CellRecord, repeat: u32, attempt: u32) -> Result<(), StudyError> {
        let run = self.place(cell, repeat, attempt);
        let (order, time_left) = (run.number, self.time_left());
        (self.tell)(StudyEvent::RunBegins { run, time_left });
        let name = attempt_name(&run_name(cell.id, repeat), attempt);
        let kept = self.measured(cell, (repeat, attempt, order), &name).and_then(|run| self.keep(run, &name));
        if kept.is_err() {
            self.folder.abandon_run(&name);
        }
        kept
    }

    /// What is said of an attempt that begins.
    pub(super) fn place(&self, cell: &CellRecord, repeat: u32, attempt: u32) -> RunPlace {
        let made = u32::try_from(self.runs.len()).unwrap_or(u32::MAX);
        let aside = self.attempts_set_aside();
        RunPlace {
            series: self.plan.series[cell.series].label.clone(),
            rate_per_s: cell.rate_per_s,
            repeat,
            attempt,
            number: made.saturating_add(aside + 1),
            total: self.runs_planned().saturating_add(aside + u32::from(attempt > 1)),
        }
    }

    fn measured(
        &mut self,
        cell: &CellRecord,
        (repeat, attempt, order): (u32, u32, u32),
        name: &str,
    ) -> Result<Measured, StudyError> {
        let series = &self.spec.series[cell.series];
        let site = series.site;
        let ready = self.cold_server(cell.series)?;
        self.folder.begin_run(name)?;
        let order = RunOrder {
            cell,
            repeat,
            attempt,
            order,
            workload: Arc::clone(&series.workload),
            arrivals: ArrivalPlan::Poisson(cell.rate_per_s),
            phases: phases(self.spec, cell, &self.plan.probes),
            is_cold: !matches!(self.spec.reset, Reset::Nothing),
            together: None,
            ledger: (ready.of_others && series.may_write()).then_some(Ledger(self.folder)),
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

    /// The server of a series, reset as the study asks for, and no other private server beside it.
    pub(super) fn cold_server(&mut self, series: usize) -> Result<Ready, StudyError> {
        let spec = &self.spec.series[series];
        for (index, site) in self.sites.iter_mut().enumerate() {
            if index != spec.site {
                site.down(self.tell)?;
            }
        }
        let setting = Setting { pool: self.plan.series[series].pool_bytes, disk: spec.disk };
        self.sites[spec.site].fresh(&self.spec.reset, setting, spec.writes(), self.stop, self.tell)
    }

    fn keep(&mut self, measured: Measured, name: &str) -> Result<(), StudyError> {
        let Measured { mut run, load, sense } = measured;
        run.caveats.extend_from_slice(&self.caveats);
        self.folder.finish_run(name, &run, |dir| write_tables(dir, &load, &sense))?;
        store::add(&mut self.runs, run.clone());
        store::judge_lateness(&mut self.runs);
        self.summary()?;
        (self.tell)(StudyEvent::RunEnds(Box::new(run)));
        Ok(())
    }
}
