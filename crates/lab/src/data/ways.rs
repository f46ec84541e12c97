//! The ways of rows into a server.
//!
//! `--via load`: LOAD DATA LOCAL over several connections. A table goes over one connection in primary key order, so its pages fill from left to right and its
//! layout does not depend on the number of connections; tables go side by side, the longest first. A
//! table is cut into statements of a bounded number of rows, so that a rollback is short and the undo
//! log small. Indexes are built when the rows are in: sorting beats inserting in random order.
//!
//! `--via insert` and `--via script`: one row at a time, in the published order, over one connection. `--via shuffled`: in an order that
//! has nothing to do with any key.
//!
//! What orders refer to table by table, then each order with its lines and what goes with it (TPC-W a payment,
//! DVD Store the customer's history); a commit every 1,000 rows. The tables of an order grow side
//! by side and TPC-W's order_line grows in an order that is not that of its key. With `insert` secondary indexes are built in the
//! end, by sorting. The server of the published study (MySQL 5.1) had to fill them row by row instead, and so does `script`: they are
//! there from the start and grow by inserts anywhere in them.
//!
//! Shuffled, with all indexes there from the start, every index grows by splits of pages anywhere in it, so that neighbours in the order of
//! keys lie anywhere in the file: the worst that a layout can be. The keys of a table are shuffled in memory, 16 bytes each.

use super::schema::Indexes;
use super::session::{DataError, DataProgress, Phase, Result, Tally, Workplace, finish_filled};
use super::set::{DataSet, Generator, Key, Table};
use super::stream::{Content, RowStream};
use evenkeel_core::experiment::shuffled;
use evenkeel_core::random::Seed;
use evenkeel_site::server::Control;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::io::Read;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

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
    run(place, threads, order(set), tally, progress, &|control, table| {
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

/// Time between two reports, and between two looks at the stop switch.
const TICK: Duration = Duration::from_millis(100);

/// Does all jobs, at most `threads` at a time and the first ones first, each with a connection. Results
/// come in the order in which jobs end. The first failure ends the other jobs and is returned.
///
/// The calling thread reports progress and, when somebody asks to stop, kills the connections:
/// an index build would otherwise hold a stop up for as long as it takes.
fn run<J: Send, R: Send>(
    place: &Workplace,
    threads: usize,
    jobs: Vec<J>,
    tally: &Tally,
    progress: &mut dyn FnMut(DataProgress),
    work: &(dyn Fn(&mut Control, J) -> Result<R> + Sync),
) -> Result<Vec<R>> {
    let threads = threads.clamp(1, jobs.len().max(1));
    let jobs = Mutex::new(VecDeque::from(jobs));
    let connections = Mutex::new(Vec::new());
    let (sender, results) = channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, jobs, connections) = (sender.clone(), &jobs, &connections);
            scope.spawn(move || work_off(place, jobs, connections, tally, &sender, work));
        }
        drop(sender);
        let mut done = Vec::new();
        let mut failure = None;
        loop {
            match results.recv_timeout(TICK) {
                Ok(Ok(result)) => done.push(result),
                // The failure that came first is the cause of the others.
                Ok(Err(error)) => drop(failure.get_or_insert(error)),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    if tally.proceed().is_err() {
                        kill(place, &connections);
                    }
                }
            }
            progress(tally.progress());
        }
        match failure {
            None => Ok(done),
            // What a stop cuts short fails in many ways, all of them the stop's.
            Some(_) if tally.stop.is_set() => Err(DataError::Stopped),
            Some(error) => Err(error),
        }
    })
}

fn work_off<J, R>(
    place: &Workplace,
    jobs: &Mutex<VecDeque<J>>,
    connections: &Mutex<Vec<u32>>,
    tally: &Tally,
    results: &Sender<Result<R>>,
    work: &(dyn Fn(&mut Control, J) -> Result<R> + Sync),
) {
    let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let send = |result: Result<R>| {
        let failed = result.is_err();
        // The receiver lives until all senders are gone.
        let _ = results.send(result);
        // Only now: who saw the flag earlier would say that it was stopped before the cause was said.
        if failed {
            tally.failed.store(true, Ordering::Release);
        }
    };
    let mut connection = match place.connect() {
        Ok(connection) => connection,
        Err(error) => return send(Err(error)),
    };
    connections.lock().unwrap_or_else(PoisonError::into_inner).push(connection.id());
    while let Some(job) = next() {
        let result = tally.proceed().and_then(|()| work(&mut connection, job));
        let failed = result.is_err();
        send(result);
        if failed {
            return;
        }
    }
}

/// Ends our connections and what runs on them, as far as the server lets us.
fn kill(place: &Workplace, connections: &Mutex<Vec<u32>>) {
    let Ok(mut control) = Control::connect_until(&place.target, &place.stop) else { return };
    for id in connections.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        // A connection that has ended meanwhile is an error here, and no loss.
        let _ = control.kill(*id);
    }
}

/// Rows of a statement where they are shuffled.
const SHUFFLED_ROWS: usize = 50;

/// Inserts all rows, in the published order or shuffled by a seed, builds the indexes and verifies. Returns what each table holds.
pub(super) fn insert(
    place: &Workplace,
    (set, generator): (DataSet, &Generator),
    (indexes, shuffle): (Indexes, Option<Seed>),
    tally: &Tally,
    progress: &mut dyn FnMut(DataProgress),
) -> Result<Vec<(Table, Content)>> {
    let contents = run(place, 1, vec![()], tally, progress, &|control, ()| {
        let mut writer = Writer::new(control, generator, tally)?;
        match shuffle {
            Some(seed) => insert_shuffled(&mut writer, set, seed)?,
            None => insert_in_order(&mut writer, set)?,
        }
        writer.commit()?;
        let contents = writer.contents;
        for (table, content) in &contents {
            finish_filled(control, *table, indexes, *content, tally)?;
        }
        Ok(contents)
    })?;
    Ok(contents.into_iter().flatten().collect())
}

fn insert_in_order(writer: &mut Writer<'_>, set: DataSet) -> Result<()> {
    let filled = set.filled();
    let head = filled.iter().position(|table| *table == set.orders()).unwrap_or(filled.len());
    let (before, of_orders) = filled.split_at(head);
    for &table in before {
        writer.tally.enter(Phase::Rows, table.name())?;
        for number in 1..=set.rows_expected(table) {
            writer.insert(table, &[(number, 0)])?;
        }
    }
    writer.tally.enter(Phase::Rows, set.orders().name())?;
    for number in 1..=set.rows_expected(set.orders()) {
        for &table in of_orders {
            let lines = if table.has_lines() { 1..=writer.generator.lines(number) } else { 0..=0 };
            for line in lines {
                writer.insert(table, &[(number, line)])?;
            }
        }
    }
    Ok(())
}

fn insert_shuffled(writer: &mut Writer<'_>, set: DataSet, seed: Seed) -> Result<()> {
    for table in set.filled() {
        writer.tally.enter(Phase::Rows, table.name())?;
        let seed = seed.child("shuffled").child(table.name());
        for keys in shuffled(writer.generator.keys(table).collect(), seed).chunks(SHUFFLED_ROWS) {
            writer.insert(table, keys)?;
        }
    }
    Ok(())
}

/// Rows of a transaction.
const COMMIT_ROWS: u64 = 1_000;

/// Rows of the generator as statements, some of them in one transaction.
struct Writer<'a> {
    control: &'a mut Control,
    generator: &'a Generator,
    tally: &'a Tally,
    contents: BTreeMap<Table, Content>,
    open_rows: u64,
    row: Vec<u8>,
    sql: Vec<u8>,
}

impl<'a> Writer<'a> {
    fn new(control: &'a mut Control, generator: &'a Generator, tally: &'a Tally) -> Result<Self> {
        // Checks of uniqueness stay on, as they are for users' own inserts.
        control.exec("SET SESSION unique_checks = 1, autocommit = 0")?;
        let (contents, row, sql) = (BTreeMap::new(), Vec::new(), Vec::new());
        Ok(Self { control, generator, tally, contents, open_rows: 0, row, sql })
    }

    /// Inserts the rows with these keys by one statement.
    fn insert(&mut self, table: Table, keys: &[Key]) -> Result<()> {
        self.sql.clear();
        self.sql.extend_from_slice(b"INSERT INTO ");
        self.sql.extend_from_slice(table.name().as_bytes());
        for (place, key) in keys.iter().enumerate() {
            self.sql.extend_from_slice(if place == 0 { b" VALUES " } else { b"," });
            self.row.clear();
            self.generator.write(table, key.0, key.1, &mut self.row);
            table.definition().sql_values(&self.row, &mut self.sql);
            self.contents.entry(table).or_default().add_row(&self.row);
            self.tally.add(1, self.row.len() as u64);
        }
        // Rows are ASCII by construction.
        self.control.exec(&String::from_utf8_lossy(&self.sql))?;
        self.open_rows += keys.len() as u64;
        if self.open_rows >= COMMIT_ROWS { self.commit() } else { Ok(()) }
    }

    fn commit(&mut self) -> Result<()> {
        self.tally.proceed()?;
        self.control.exec("COMMIT")?;
        self.open_rows = 0;
        Ok(())
    }
}
