//! One dispatch from its beginning to its end.

use super::audit::Census;
use super::lock::lock;
use super::work::Work;
use super::{Day, DispatchError, Dispatched, Job, Progress};
use super::{journal, source, take, transfer};
use evenkeel_site::server::Control;

/// Moves the records of a source to the tables of their days.
///
/// A rerun goes on with what was cut, and then takes what has come since.
pub fn dispatch(
    control: &mut Control,
    job: &Job,
    report: &mut dyn FnMut(&Progress),
) -> Result<Dispatched, DispatchError> {
    source::settle(control)?;
    let job = &job.folded(control)?;
    lock(control, &job.table)?;
    take::put_source_back(control, &job.table)?;
    let shape = source::shape(control, &job.table)?;
    let source = shape.ok_or_else(|| DispatchError::NoTable(job.table.clone()))?;
    source::refuse_hangers_on(control, &source)?;
    let by = source.by(control, &job.by)?;
    journal::open(control)?;
    let mut work = Work { control, job, source, by, done: Dispatched::default(), total: 0, report };
    work.run()?;
    Ok(work.done)
}

impl Work<'_> {
    fn run(&mut self) -> Result<(), DispatchError> {
        take::go_on(self)?;
        transfer::go_on(self)?;
        let (days, undated) = self.days(&self.job.table.clone())?;
        if !self.source.has_transactions() && (!days.is_empty() || undated > 0) {
            take::refuse_cut_load(self)?;
        }
        let census = if self.job.audit { Census::before(self, &days)? } else { Census::none() };
        self.move_all(days, undated)?;
        self.done.audit = census.after(self)?;
        Ok(())
    }

    fn move_all(&mut self, days: Vec<(Day, u64)>, undated: u64) -> Result<(), DispatchError> {
        self.total = self.done.records + days.iter().map(|(_, records)| records).sum::<u64>();
        self.done.undated = undated;
        match (days.is_empty(), self.source.has_transactions()) {
            (true, _) => Ok(()),
            (_, true) => transfer::days(self, days),
            (_, false) => take::days(self, &days),
        }
    }
}
