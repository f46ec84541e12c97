//! `--via load`: LOAD DATA LOCAL over several connections.
//!
//! A table goes over one connection in primary key order, so its pages fill from left to right and its
//! layout does not depend on the number of connections; tables go side by side, the longest first. A
//! table is cut into statements of a bounded number of rows, so that a rollback is short and the undo
//! log small. Indexes are built when the rows are in: sorting beats inserting in random order.

use super::parallel;
use super::schema::Indexes;
use super::session::{DataError, DataProgress, Phase, Result, Tally, Workplace, finish_filled};
use super::set::{DataSet, Generator, Table};
use super::stream::{Content, RowStream};
use evenkeel_site::server::Control;
use std::cmp::Reverse;
use std::io;
use std::io::Read;

/// Rows of one statement: a few seconds of work, and enough that its cost does not count.
const STATEMENT_ROWS: u64 = 500_000;

/// Tables in the order in which they start: those with most fields first, so that the end is even.
fn order(set: DataSet) -> Vec<Table> {
    let fields = |table: &Table| set.rows_expected(*table) * table.definition().columns.len() as u64;
    let mut tables = set.filled();
    tables.sort_by_key(|table| Reverse(fields(table)));
    tables
}

/// Loads all tables, builds their indexes and verifies them. Returns what each table holds.
pub(super) fn load(
    place: &Workplace,
    set: DataSet,
    generator: &Generator,
    threads: usize,
    tally: &Tally,
    progress: &mut dyn FnMut(DataProgress),
) -> Result<Vec<(Table, Content)>> {
    parallel::run(place, threads, order(set), tally, progress, &|control, table| {
        let content = load_table(control, generator.clone(), table, tally)?;
        finish_filled(control, table, Indexes::Later, content, tally)?;
        Ok((table, content))
    })
}

fn load_table(control: &mut Control, generator: Generator, table: Table, tally: &Tally) -> Result<Content> {
    tally.enter(Phase::Rows, table.name())?;
    let mut stream = RowStream::new(generator, table);
    // The rows are ASCII, which is the same in latin1 and cheaper for the server to read.
    let sql = format!(
        "LOAD DATA LOCAL INFILE 'rows' INTO TABLE `{table}` CHARACTER SET latin1 \
         FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n'"
    );
    loop {
        let last = stream.content().rows + STATEMENT_ROWS;
        stream.limit(last);
        control.load_data_local(&sql, Part { stream: &mut stream, tally })?;
        refuse_warnings(control, table.name())?;
        if stream.content().rows < last {
            return Ok(stream.content());
        }
    }
}

/// LOCAL turns errors in rows into warnings, so a warning means rows that are not as they were sent.
fn refuse_warnings(control: &mut Control, table: &str) -> Result<()> {
    let count = u64::from(control.warnings());
    if count == 0 {
        return Ok(());
    }
    let warnings = control.query("SHOW WARNINGS LIMIT 1")?;
    let first = warnings.rows.into_iter().next().and_then(|row| row.into_iter().next_back().flatten());
    Err(DataError::Warnings { table: table.to_owned(), count, first: first.unwrap_or_default() })
}

/// The rows of one statement.
struct Part<'a> {
    stream: &'a mut RowStream,
    tally: &'a Tally,
}

impl Read for Part<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.tally.proceed().map_err(io::Error::other)?;
        let before = self.stream.content().rows;
        let length = self.stream.read(out)?;
        self.tally.add(self.stream.content().rows - before, length as u64);
        Ok(length)
    }
}
