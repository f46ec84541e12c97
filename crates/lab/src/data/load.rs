//! `--via load`: LOAD DATA LOCAL over several connections.
//!
//! A table goes over one connection in primary key order, so its pages fill from left to right and its
//! layout does not depend on the number of connections; tables go side by side, the longest first. A
//! table is cut into statements of a bounded number of rows, so that a rollback is short and the undo
//! log small. Indexes are built when the rows are in: sorting beats inserting in random order.

use super::content::Content;
use super::error::DataError;
use super::parallel;
use super::progress::{DataProgress, Phase, Tally};
use super::schema::Indexes;
use super::session::{Workplace, finish_filled};
use super::set::{DataSet, Generator, Table};
use super::stream::RowStream;
use super::{dvdstore, tpcw};
use evenkeel_site::server::Control;
use std::io::{self, BufRead, Read};
use std::sync::{Arc, Mutex, PoisonError};

/// Rows of one statement: a few seconds of work, and enough that its cost does not count.
const STATEMENT_ROWS: u64 = 500_000;

/// Tables in the order in which they start: the longest first, so that the end is even.
fn order(set: DataSet) -> Vec<Table> {
    match set {
        DataSet::Tpcw(_) => {
            use tpcw::Table::*;
            [Customer, OrderLine, Address, Orders, CcXacts, Item, Author, Country].map(Table::Tpcw).to_vec()
        }
        DataSet::DvdStore(_) => {
            use dvdstore::Table::*;
            let order = [Customers, OrderLines, CustHist, Orders, Products, Inventory, Categories];
            order.map(Table::DvdStore).to_vec()
        }
    }
}

/// Loads all tables, builds their indexes and verifies them. Returns what each table holds.
pub(super) fn load(
    place: &Workplace,
    set: DataSet,
    generator: &Generator,
    threads: usize,
    tally: &Arc<Tally>,
    progress: &mut dyn FnMut(DataProgress),
) -> Result<Vec<(Table, Content)>, DataError> {
    parallel::run(place, threads, order(set), tally, progress, &|control, table| {
        let content = load_table(control, generator.clone(), table, tally)?;
        finish_filled(control, table, Indexes::Later, content, tally)?;
        Ok((table, content))
    })
}

fn load_table(
    control: &mut Control,
    generator: Generator,
    table: Table,
    tally: &Arc<Tally>,
) -> Result<Content, DataError> {
    tally.enter(Phase::Rows, table.name())?;
    let stream = Arc::new(Mutex::new(RowStream::new(generator, table)));
    // The rows are ASCII, which is the same in latin1 and cheaper for the server to read.
    let sql = format!(
        "LOAD DATA LOCAL INFILE 'rows' INTO TABLE `{table}` CHARACTER SET latin1 \
         FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n'"
    );
    loop {
        let before = rows(&stream);
        let part =
            Part { stream: Arc::clone(&stream), tally: Arc::clone(tally), last: before + STATEMENT_ROWS };
        control.load_data_local(&sql, part)?;
        refuse_warnings(control, table.name())?;
        if rows(&stream) < before + STATEMENT_ROWS {
            return Ok(stream.lock().unwrap_or_else(PoisonError::into_inner).content());
        }
    }
}

fn rows(stream: &Mutex<RowStream>) -> u64 {
    stream.lock().unwrap_or_else(PoisonError::into_inner).content().rows
}

/// LOCAL turns errors in rows into warnings, so a warning means rows that are not as they were sent.
fn refuse_warnings(control: &mut Control, table: &str) -> Result<(), DataError> {
    let count = u64::from(control.warnings());
    if count == 0 {
        return Ok(());
    }
    let warnings = control.query("SHOW WARNINGS LIMIT 1")?;
    let first = warnings.rows.into_iter().next().and_then(|row| row.into_iter().next_back().flatten());
    Err(DataError::Warnings { table: table.to_owned(), count, first: first.unwrap_or_default() })
}

/// The rows of one statement: those of the stream up to the row numbered `last`.
struct Part {
    stream: Arc<Mutex<RowStream>>,
    tally: Arc<Tally>,
    last: u64,
}

impl Read for Part {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.tally.proceed().map_err(io::Error::other)?;
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let before = stream.content().rows;
        stream.limit(self.last);
        let available = stream.fill_buf()?;
        let length = available.len().min(out.len());
        out[..length].copy_from_slice(&available[..length]);
        stream.consume(length);
        self.tally.add(stream.content().rows - before, length as u64);
        Ok(length)
    }
}
