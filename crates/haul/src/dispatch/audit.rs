//! Whether all records are there after a dispatch that were there before: the source and its day tables together, by their count and by a
//! sum over their rows that does not depend on the order.
//!
//! Without transactions each day is compared before it gets its name ([`super::fill`]), and a dispatch that finds a difference ends there.

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
    is_wanted: bool,
}

impl Census {
    /// Of a dispatch that nobody asks to audit.
    pub fn none() -> Self {
        Self { tables: Vec::new(), before: Sum::default(), took: Duration::ZERO, is_wanted: false }
    }

    /// Counts what there is before anything is moved.
    pub fn before(work: &mut Work<'_>, days: &[(Day, u64)]) -> Result<Self, DispatchError> {
        let mut tables: Vec<String> = days.iter().map(|(day, _)| work.table(*day)).collect();
        tables.insert(0, work.job.table.clone());
        if !work.source.has_transactions() {
            return Ok(Self { tables, is_wanted: true, ..Self::none() });
        }
        let (before, took) = all(work, &tables)?;
        Ok(Self { tables, before, took, is_wanted: true })
    }

    /// Holds what there is now against it.
    pub fn after(self, work: &mut Work<'_>) -> Result<Option<Audit>, DispatchError> {
        let tables = self.tables.len();
        match (self.is_wanted, work.source.has_transactions()) {
            (false, _) => Ok(None),
            (true, false) => {
                let rows = work.done.records + work.done.undated;
                Ok(Some(Audit { before: rows, rows, same: true, tables, took_ms: None }))
            }
            (true, true) => {
                let (now, took) = all(work, &self.tables)?;
                let took_ms = u64::try_from((self.took + took).as_millis()).ok();
                let (before, rows, same) = (self.before.count, now.count, now == self.before);
                Ok(Some(Audit { before, rows, same, tables, took_ms }))
            }
        }
    }
}

/// The rows of all these tables, with transactions as of one instant; of those that are there.
fn all(work: &mut Work<'_>, tables: &[String]) -> Result<(Sum, Duration), DispatchError> {
    let began = monotonic();
    (work.report)(&Progress::Step("auditing".to_owned()));
    work.control.exec("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
    work.control.exec("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")?;
    let found: Result<Sum, DispatchError> = tables.iter().try_fold(Sum::default(), |so_far, table| {
        let Some(shape) = source::shape(work.control, table)? else { return Ok(so_far) };
        // By the columns of the source, in its order, whatever order those of a day table have.
        shape.check_like(&work.source)?;
        Ok(so_far.and(sum(work.control, &work.source, table, "TRUE")?))
    });
    work.control.exec("COMMIT")?;
    Ok((found?, (monotonic() - began).into()))
}
