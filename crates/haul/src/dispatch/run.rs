//! One dispatch from its beginning to its end.

use super::work::Work;
use super::{Audit, Day, DispatchError, Dispatched, Job, Progress, Shape, journal, source, transfer};
use crate::table::quoted;
use evenkeel_os::clock::monotonic;
use evenkeel_site::server::Control;
use std::time::Duration;

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

// Whether all records are there after a dispatch that were there before: the source and its day tables together, by their count and by a
// sum over their rows that does not depend on the order.

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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub count: u64,
    pub checksum: u128,
}

impl Sum {
    pub fn and(self, other: Self) -> Self {
        Self { count: self.count + other.count, checksum: self.checksum + other.checksum }
    }
}

/// The SHA-256 of a row's values, as an expression: rows with the same one have the same values, as good as surely. NULL is no value, and
/// the borders of values count. A FLOAT is read as a DOUBLE, since its own text has six digits and more values than one. `CHECKSUM TABLE`
/// would not do: of tables with generated columns MariaDB 10.11 tells another sum each time.
fn hash(shape: &Shape) -> String {
    let is_float =
        |name: &String| shape.columns.iter().any(|(other, kind)| other == name && kind.starts_with("float"));
    let part = |name: &String| {
        let more = if is_float(name) { " + 0e0" } else { "" };
        let name = quoted(name);
        // A value that is too large for this is NULL here, and so is its row then: it must not pass for one that is none.
        format!("IF({name} IS NULL, 'N', CONCAT(LENGTH({name}{more}), ':', CAST({name}{more} AS BINARY)))")
    };
    format!("SHA2(CONCAT({}), 256)", shape.given.iter().map(part).collect::<Vec<_>>().join(", "))
}

/// Adds the rows of a table up: by the first 64 bits of their hashes, which does not depend on the order and counts doubles.
fn sum(control: &mut Control, shape: &Shape, table: &str) -> Result<Sum, DispatchError> {
    let hash = hash(shape);
    let rows = control.query(&format!(
        "SELECT COUNT(*), COALESCE(SUM(CAST(CONV(LEFT({hash}, 16), 16, 10) AS UNSIGNED)), 0), \
         COALESCE(SUM({hash} IS NULL), 0) FROM {}",
        quoted(table)
    ))?;
    let text = |place: usize| rows.rows.first().and_then(|row| row[place].clone()).unwrap_or_default();
    match (text(0).parse(), text(1).parse(), text(2).as_str()) {
        (Ok(count), Ok(checksum), "0") => Ok(Sum { count, checksum }),
        _ => Err(DispatchError::Unfit {
            table: table.to_owned(),
            what: "has records that are too large to be compared".to_owned(),
            hint: "raise max_allowed_packet at the server",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::Create;

    #[test]
    fn a_float_is_hashed_by_all_of_its_digits_and_what_the_server_computes_is_not_hashed() {
        let kinds = [("f", "float"), ("d", "double"), ("g", "int(11)")];
        let shape = Shape {
            table: "t".to_owned(),
            columns: kinds.map(|(name, kind)| (name.to_owned(), kind.to_owned())).to_vec(),
            given: ["f", "d"].map(str::to_owned).to_vec(),
            create: Create::parse("CREATE TABLE `t` (\n  `f` float\n) ENGINE=InnoDB").unwrap(),
        };
        let sql = hash(&shape);
        assert!(sql.contains("CAST(`f` + 0e0 AS BINARY)") && sql.contains("CAST(`d` AS BINARY)"), "{sql}");
        assert!(!sql.contains("`g`"), "{sql}");
    }
}
