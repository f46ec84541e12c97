//! One dispatch from its beginning to its end.

use super::audit::Census;
use super::work::Work;
use super::{DispatchError, Dispatched, Job, Progress};
use super::{journal, source, transfer};
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
    source::lock(control, &job.table)?;
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
        transfer::go_on(self)?;
        let (days, undated) = self.days()?;
        let census = self.job.audit.then(|| Census::before(self, &days)).transpose()?;
        self.total = self.done.records + days.iter().map(|(_, records)| records).sum::<u64>();
        self.done.undated = undated;
        transfer::days(self, days)?;
        self.done.audit = census.map(|census| census.after(self)).transpose()?;
        Ok(())
    }
}
