//! What the steps of a dispatch work with, and what all of them do.

use super::job::Which;
use super::journal::JOURNAL;
use super::{By, Day, DispatchError, Job, Shape, journal, source};
use crate::table::quoted;
use evenkeel_site::server::Control;
use serde::Serialize;

pub(super) struct Work<'a> {
    pub control: &'a mut Control,
    pub job: &'a Job,
    pub source: Shape,
    pub by: By,
    pub done: Dispatched,
    pub total: u64,
    pub report: &'a mut dyn FnMut(&Progress),
}

impl Work<'_> {
    /// The days of the source's records with how many there are of each, and how many have none.
    pub fn days(&mut self) -> Result<(Vec<(Day, u64)>, u64), DispatchError> {
        let table = self.job.table.as_str();
        (self.report)(&Progress::Step(format!("counting the days of {table}")));
        let by = quoted(&self.by.column);
        // Not by another name for it: a column of that name would go before.
        let sql =
            format!("SELECT DATE({by}), COUNT(*) FROM {} GROUP BY DATE({by}) ORDER BY 1", quoted(table));
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

    pub fn table(&self, day: Day) -> String {
        self.job.names.table(day)
    }

    /// Makes a day's table where it is missing, or looks whether the one that is there takes the records as they are.
    pub fn ready(&mut self, table: &str) -> Result<(), DispatchError> {
        match source::shape(self.control, table)? {
            Some(there) => {
                there.check_like(&self.source)?;
                source::refuse_triggers(self.control, table)
            }
            None => {
                // Indexes that refuse nothing are faster to make of all rows.
                let sql = self.source.create.day_table(table);
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

    /// Copies records to a table; how many.
    pub fn copy(&mut self, from: &str, which: &Which, to: &str) -> Result<u64, DispatchError> {
        let (list, which) = (self.source.list(), which.sql(&self.by));
        Ok(self.control.exec(&format!(
            "INSERT INTO {} ({list}) SELECT {list} FROM {} WHERE {which}",
            quoted(to),
            quoted(from)
        ))?)
    }

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
    pub fn close(&mut self, id: u64) -> Result<(), DispatchError> {
        let sql = format!("UPDATE {JOURNAL} SET state = 'done', done_at = NOW() WHERE id = {id}");
        Ok(self.control.exec(&sql).map(drop)?)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    Step(String),
    /// Records of this table are moved.
    Moving {
        table: String,
        records: u64,
        total: u64,
    },
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Dispatched {
    /// Each day, the earliest first; what a dispatch that was cut had left comes before.
    pub days: Vec<DayDone>,
    /// Records that are in day tables now and were not before.
    pub records: u64,
    /// Records without a date that stay in the source.
    pub undated: u64,
    /// What the audit found; `None` where nobody asked for one.
    pub audit: Option<Audit>,
    /// Whether this went on with a dispatch that was cut.
    pub resumed: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct DayDone {
    pub day: Day,
    pub table: String,
    pub records: u64,
    /// Whether the table was made for them.
    pub created: bool,
    /// How many others of the day stay in the source.
    pub stayed: u64,
    /// How many these are and why, in words.
    pub refused: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Audit {
    /// Rows of the source and of the tables of its days before.
    pub before: u64,
    /// The same after it.
    pub rows: u64,
    /// Whether they are the same rows, each as often.
    pub same: bool,
    pub tables: usize,
    /// What the sums took, in milliseconds.
    pub took_ms: u64,
}
