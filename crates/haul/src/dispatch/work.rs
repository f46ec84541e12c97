//! One dispatch from its beginning to its end.

use super::journal::{self, State};
use super::which::Which;
use super::{By, Day, DayDone, DispatchError, Dispatched, Job, Progress, Shape, Way};
use super::{partitions, procedures, source, take, transfer};
use crate::table::quoted;
use evenkeel_site::server::Control;
use xxhash_rust::xxh3::xxh3_64;

/// How long somebody else's dispatch of the same source is waited for, in seconds: as long as a statement may take to end whose
/// client was killed.
const LOCK_WAIT_S: u32 = 10;

/// All that a dispatch works with.
pub(super) struct Work<'a> {
    pub control: &'a mut Control,
    pub job: &'a Job,
    pub source: Shape,
    pub by: By,
    pub done: Dispatched,
    /// Records to move, for the progress.
    pub total: u64,
    pub report: &'a mut dyn FnMut(&Progress),
}

/// Moves the records of a source to the tables of their days.
///
/// A rerun goes on with what was cut, and then takes what has come since.
///
/// # Errors
/// The server's, or what keeps the records from being moved in safety. What was moved is in the journal.
pub fn dispatch(
    control: &mut Control,
    job: &Job,
    report: &mut dyn FnMut(&Progress),
) -> Result<Dispatched, DispatchError> {
    if control.query_value("SELECT DATABASE()")?.is_none() {
        return Err(DispatchError::NoDatabase);
    }
    source::settle(control)?;
    lock(control, &job.table)?;
    take::put_source_back(control, &job.table)?;
    let shape = source::shape(control, &job.table)?;
    let source = shape.ok_or_else(|| DispatchError::NoTable(job.table.clone()))?;
    source::refuse_hangers_on(control, &source)?;
    let by = source.by(control, &job.by)?;
    journal::open(control)?;
    if job.way == Way::Procedure {
        procedures::install(control)?;
    }
    let mut work = Work { control, job, source, by, done: Dispatched::default(), total: 0, report };
    work.run()?;
    Ok(work.done)
}

/// Keeps others from the same source as long as this connection lasts.
pub(super) fn lock(control: &mut Control, table: &str) -> Result<(), DispatchError> {
    let database = control.query_value("SELECT DATABASE()")?.unwrap_or_default();
    // Names of locks are as short as those of tables, and belong to the whole server.
    let name = format!("evenkeel_dispatch_{:016x}", xxh3_64(format!("{database}\0{table}").as_bytes()));
    let got = control.query_value(&format!("SELECT GET_LOCK('{name}', {LOCK_WAIT_S})"))?;
    if got.as_deref() == Some("1") {
        return Ok(());
    }
    let connection = control.query_value(&format!("SELECT IS_USED_LOCK('{name}')"))?.unwrap_or_default();
    Err(DispatchError::Busy { table: table.to_owned(), connection })
}

impl Work<'_> {
    fn run(&mut self) -> Result<(), DispatchError> {
        take::go_on(self)?;
        transfer::go_on(self)?;
        let (days, undated) = self.days(&self.job.table.clone())?;
        self.total = self.done.records + days.iter().map(|(_, records)| records).sum::<u64>();
        let left = match self.job.way {
            Way::Exchange => partitions::exchange(self, days)?,
            Way::Insert | Way::Procedure => days.into_iter().map(|(day, count)| (day, count, None)).collect(),
        };
        let mut left: Vec<_> = left.into_iter().map(|(day, count, note)| (Some(day), count, note)).collect();
        match &self.job.null_day {
            Some(_) if undated > 0 => left.push((None, undated, None)),
            Some(_) => {}
            None => self.done.undated = undated,
        }
        match (left.is_empty(), self.source.has_transactions()) {
            (true, _) => Ok(()),
            (_, true) => transfer::days(self, left),
            (_, false) => take::days(self, left),
        }
    }

    /// The days of a table's records with how many there are of each, and how many have none.
    pub fn days(&mut self, table: &str) -> Result<(Vec<(Day, u64)>, u64), DispatchError> {
        (self.report)(&Progress::Step(format!("counting the days of {table}")));
        let by = quoted(&self.by.column);
        let sql =
            format!("SELECT DATE({by}) AS day, COUNT(*) FROM {} GROUP BY day ORDER BY day", quoted(table));
        let (mut days, mut undated, most) = (Vec::new(), 0, self.job.days_max);
        let mut count = 0;
        self.control.for_each_row(&sql, &mut |row| {
            let text = |place: usize| {
                row[place].as_deref().map(|bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned())
            };
            let records = journal::number(text(1));
            match text(0).as_deref().and_then(Day::parse) {
                None => undated += records,
                Some(_) if count >= most => count += 1,
                Some(day) => {
                    count += 1;
                    days.push((day, records));
                }
            }
            Ok(())
        })?;
        if count > most {
            return Err(DispatchError::TooManyDays { table: table.to_owned(), days: count, most });
        }
        Ok((days, undated))
    }

    /// The table of a day, or that of records without one.
    pub fn table(&self, day: Option<Day>) -> String {
        match day {
            Some(day) => self.job.names.table(day),
            None => self.job.null_day.clone().unwrap_or_default(),
        }
    }

    /// Makes a day's table where it is missing, or looks whether the one that is there takes the records as they are.
    pub fn ready(&mut self, table: &str) -> Result<(), DispatchError> {
        match source::shape(self.control, table)? {
            Some(there) => {
                there.check_like(&self.source)?;
                source::refuse_triggers(self.control, table)
            }
            None => {
                let sql = self.source.create.day_table(table, !self.job.indexes_after);
                Ok(self.control.exec(&sql).map(drop)?)
            }
        }
    }

    /// Gives a day's table the indexes that it was made without.
    pub fn add_indexes(&mut self, table: &str) -> Result<(), DispatchError> {
        let Some(there) = source::shape(self.control, table)? else { return Ok(()) };
        if let Some(sql) = self.source.create.add_indexes(table, &there.create) {
            (self.report)(&Progress::Step(format!("adding indexes to {table}")));
            self.control.exec(&sql)?;
        }
        Ok(())
    }

    /// Copies records to a table, by the way that was asked for; how many.
    pub fn copy(&mut self, from: &str, which: &Which, to: &str) -> Result<u64, DispatchError> {
        if self.job.way == Way::Procedure {
            let arguments = procedures::arguments(from, &self.by.column, which, to);
            self.control.exec(&format!("CALL evenkeel_append({arguments}, @moved)"))?;
            return Ok(journal::number(self.control.query_value("SELECT @moved")?));
        }
        let (list, which) = (self.source.list(), which.sql(&self.by));
        Ok(self.control.exec(&format!(
            "INSERT INTO {} ({list}) SELECT {list} FROM {} WHERE {which}",
            quoted(to),
            quoted(from)
        ))?)
    }

    /// The way by which records are copied that no partition brings.
    pub fn copying_way(&self) -> Way {
        if self.job.way == Way::Procedure { Way::Procedure } else { Way::Insert }
    }

    /// Notes that a day is done.
    pub fn finished(&mut self, day: DayDone) {
        self.done.records += day.records;
        (self.report)(&Progress::Moving {
            table: day.table.clone(),
            records: self.done.records,
            total: self.total,
        });
        self.done.days.push(day);
    }

    /// Says in the journal that a row's work is done.
    pub fn close(&mut self, id: u64, more: &str) -> Result<(), DispatchError> {
        Ok(self.control.exec(&journal::change(id, State::Done, more)).map(drop)?)
    }
}
