//! Whether all records are there after a dispatch that were there before: the source and its day tables together, by their count and by a
//! sum over their rows that does not depend on the order.

use super::sum::{Sum, sum};
use super::work::Work;
use super::{Audit, Day, DispatchError, Progress, source};
use evenkeel_os::clock::monotonic;
use std::time::Duration;

/// The rows before.
pub(super) struct Census {
    tables: Vec<String>,
    before: Sum,
    took: Duration,
}

impl Census {
    /// Counts what there is before anything is moved.
    pub fn before(work: &mut Work<'_>, days: &[(Day, u64)]) -> Result<Self, DispatchError> {
        let days = days.iter().map(|(day, _)| work.table(*day));
        let tables: Vec<String> = [work.job.table.clone()].into_iter().chain(days).collect();
        let (before, took) = all(work, &tables)?;
        Ok(Self { tables, before, took })
    }

    /// Holds what there is now against it.
    pub fn after(self, work: &mut Work<'_>) -> Result<Audit, DispatchError> {
        let (now, took) = all(work, &self.tables)?;
        Ok(Audit {
            before: self.before.count,
            rows: now.count,
            same: now == self.before,
            tables: self.tables.len(),
            took_ms: (self.took + took).as_millis() as u64,
        })
    }
}

/// The rows of all these tables as of one instant; of those that are there.
fn all(work: &mut Work<'_>, tables: &[String]) -> Result<(Sum, Duration), DispatchError> {
    let began = monotonic();
    (work.report)(&Progress::Step("auditing".to_owned()));
    work.control.exec("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
    work.control.exec("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")?;
    let found: Result<Sum, DispatchError> = tables.iter().try_fold(Sum::default(), |so_far, table| {
        let Some(shape) = source::shape(work.control, table)? else { return Ok(so_far) };
        // By the columns of the source, in its order, whatever order those of a day table have.
        shape.check_like(&work.source)?;
        Ok(so_far.and(sum(work.control, &work.source, table)?))
    });
    work.control.exec("COMMIT")?;
    Ok((found?, (monotonic() - began).into()))
}
