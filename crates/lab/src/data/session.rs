//! A connection set up for data work on one database.

use super::schema::Indexes;
use super::set::Table;
use super::stream::Content;
use evenkeel_os::Stop;
use evenkeel_site::server::{Control, Target, TargetError};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use thiserror::Error;

/// Nothing here outlives the session. The binary log is left alone: a server may have replicas. So is
/// `foreign_key_checks`: no table has a foreign key while it is filled, and with it off too, MariaDB 10.6 and later load an empty
/// table in a bulk mode that takes as long and, by recounting statistics in the background, twice the CPU.
const SETTINGS: &str = "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', \
     time_zone = '+00:00', unique_checks = 0, autocommit = 1, wait_timeout = 86400";

#[derive(Clone)]
pub(super) struct Workplace {
    pub(super) target: Target,
    pub(super) database: String,
    /// Ends waits for a server that does not answer; what clears up goes on.
    pub(super) stop: Stop,
}

impl Workplace {
    /// On this database, or on that of the target, or else on the `default` one.
    pub(super) fn new(target: &Target, database: Option<&str>, default: &str) -> Result<Self> {
        let database = database.or(target.database.as_deref()).unwrap_or(default);
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_$-".contains(&byte) || !byte.is_ascii();
        if database.is_empty() || database.chars().count() > 64 || !database.bytes().all(allowed) {
            return Err(DataError::DatabaseName(database.to_owned()));
        }
        Ok(Self { target: target.clone(), database: database.to_owned(), stop: Stop::default() })
    }

    /// A connection with the session settings and the database as default.
    pub(super) fn connect(&self) -> Result<Control> {
        let target = Target { database: Some(self.database.clone()), ..self.target.clone() };
        let mut control = Control::connect_to_finish(&target, &self.stop).map_err(|error| match error {
            TargetError::NoDatabase { database, .. } => DataError::Missing { database },
            error => error.into(),
        })?;
        control.exec("SET NAMES utf8mb4")?;
        control.exec(SETTINGS)?;
        Ok(control)
    }

    /// The same, making the database where it is missing; one that is there needs no right to make it.
    pub(super) fn connect_or_create(&self) -> Result<Control> {
        match self.connect() {
            Err(DataError::Missing { .. }) => {}
            connected => return connected,
        }
        let anywhere = Target { database: None, ..self.target.clone() };
        Control::connect_to_finish(&anywhere, &self.stop)?.exec(&format!(
            "CREATE DATABASE IF NOT EXISTS `{}` CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
            self.database
        ))?;
        self.connect()
    }

    /// Keeps other processes of ours out until the connection ends. A server may take a moment to notice that the
    /// connection of one who stopped has ended.
    pub(super) fn lock(&self, control: &mut Control) -> Result<()> {
        let sql =
            format!("SELECT GET_LOCK(CONCAT('evenkeel:', LEFT(SHA2('{}', 256), 40)), 3)", self.database);
        match control.query_value(&sql)?.as_deref() {
            Some("1") => Ok(()),
            _ => Err(DataError::Busy { database: self.database.clone() }),
        }
    }
}

pub(super) fn table_names(control: &mut Control) -> Result<Vec<String>> {
    let sql = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1";
    Ok(control.query(sql)?.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
}

/// Fails unless the server holds exactly this of a table.
pub(super) fn expect_content(control: &mut Control, table: Table, expected: Content) -> Result<()> {
    let columns = table.definition().column_list();
    let sql = format!("SELECT COUNT(*), COALESCE(SUM(CRC32(CONCAT_WS('\\t',{columns}))), 0) FROM `{table}`");
    let answer = control.query(&sql)?;
    let number = |column: usize| -> u64 {
        let value = answer.rows.first().and_then(|row| row.get(column)).and_then(Option::as_deref);
        // Both are whole numbers by the query.
        value.and_then(|text| text.parse().ok()).unwrap_or_default()
    };
    let stored = Content { rows: number(0), crc_sum: number(1) };
    if stored == expected {
        return Ok(());
    }
    Err(DataError::Content { table: table.to_string(), expected, stored })
}

/// The end of every way in: secondary indexes where they are missing, fresh statistics, so that plans do not depend on
/// when the server gets round to it, and a look at whether the rows are those that were sent.
pub(super) fn finish_filled(
    control: &mut Control,
    table: Table,
    indexes: Indexes,
    content: Content,
    tally: &Tally,
) -> Result<()> {
    tally.enter(Phase::Indexes, table.name())?;
    let definition = table.definition();
    let later = definition.create_indexes().filter(|_| indexes == Indexes::Later);
    for sql in later.into_iter().chain(definition.create_fulltext()) {
        control.exec(&sql)?;
    }
    control.query(&format!("ANALYZE TABLE `{table}`"))?;
    tally.enter(Phase::Verify, table.name())?;
    expect_content(control, table, content)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Rows,
    /// Secondary indexes are built and statistics taken.
    Indexes,
    /// The server's content is compared with what was sent.
    Verify,
}

/// How far data work has come. Rows and bytes only rise, and stand still while a phase other than
/// `Rows` is the only one at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataProgress {
    pub phase: Phase,
    pub table: &'static str,
    /// Rows written so far, over all tables.
    pub rows_done: u64,
    /// Rows to write, over all tables; before the work ends it may be an estimate.
    pub rows_total: u64,
    pub bytes: u64,
}

/// What the jobs have done so far; shared by all connections.
pub(super) struct Tally {
    pub(super) stop: Stop,
    pub(super) failed: AtomicBool,
    rows: AtomicU64,
    bytes: AtomicU64,
    rows_total: u64,
    at_work: Mutex<(Phase, &'static str)>,
}

impl Tally {
    pub(super) fn new(stop: &Stop, rows_total: u64) -> Self {
        Self {
            stop: stop.clone(),
            failed: AtomicBool::new(false),
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            rows_total,
            at_work: Mutex::new((Phase::Rows, "")),
        }
    }

    /// Fails when somebody asked to stop or another job failed; called between statements and batches.
    pub(super) fn proceed(&self) -> Result<()> {
        match self.stop.is_set() || self.failed.load(Ordering::Acquire) {
            true => Err(DataError::Stopped),
            false => Ok(()),
        }
    }

    pub(super) fn enter(&self, phase: Phase, table: &'static str) -> Result<()> {
        *self.at_work.lock().unwrap_or_else(PoisonError::into_inner) = (phase, table);
        self.proceed()
    }

    pub(super) fn add(&self, rows: u64, bytes: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn progress(&self) -> DataProgress {
        let (phase, table) = *self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        let rows_done = self.rows.load(Ordering::Relaxed);
        let rows_total = self.rows_total.max(rows_done);
        DataProgress { phase, table, rows_done, rows_total, bytes: self.bytes.load(Ordering::Relaxed) }
    }
}

pub type Result<T, E = DataError> = std::result::Result<T, E>;

#[derive(Debug, Error)]
pub enum DataError {
    /// No connection, or the server's word on a statement.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A name that cannot stand between backquotes.
    #[error("{0:?} cannot be the name of a database")]
    DatabaseName(String),
    /// For example by `seed 1 instead of 2`.
    #[error("database {database} holds another data set: {}", differences.join(", "))]
    Differs { database: String, differences: Vec<String> },
    #[error("the data set in database {database} is incomplete")]
    HalfFinished { database: String },
    #[error("the rows of the data set in database {database} have been changed since it was made")]
    Written { database: String },
    #[error("database {database} has tables but no data set of Evenkeel, for example {table}")]
    Foreign { database: String, table: String },
    #[error("database {database} holds no data set")]
    Missing { database: String },
    #[error("the stamp in database {database} is of another version: {stamp}")]
    Stamp { database: String, stamp: String },
    #[error("another process is working on the data set in database {database}")]
    Busy { database: String },
    #[error("table {table} was loaded with {count} warnings, the first: {first}")]
    Warnings { table: String, count: u64, first: String },
    #[error(
        "table {table} has {} rows of content {:x} instead of {} rows of content {:x}",
        stored.rows, stored.crc_sum, expected.rows, expected.crc_sum
    )]
    Content { table: String, expected: Content, stored: Content },
    #[error("there is no table {0}")]
    NoTable(String),
    #[error("stopped")]
    Stopped,
}

impl DataError {
    /// Whether it is no failure: somebody asked to stop, wherever that was noticed.
    pub fn is_stop(&self) -> bool {
        matches!(self, Self::Stopped | Self::Target(TargetError::Stopped))
    }

    /// What to do about it, where there is more to say than the error itself.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Target(TargetError::LocalInfile { .. }) => {
                "SET GLOBAL local_infile = ON, or use --via insert"
            }
            Self::Target(error) => return error.hint(),
            Self::Differs { .. } => "drop that data set first, name another database, or ask for this one",
            Self::HalfFinished { .. } | Self::Written { .. } => {
                "fill it again by `evenkeel data fill URL --replace`"
            }
            Self::Foreign { .. } => {
                "name an empty or new database; for these tables, `evenkeel workload from URL > shop.toml` makes a workload"
            }
            Self::Missing { .. } => "fill it by `evenkeel data fill URL`",
            Self::Busy { .. } => "wait for it to end",
            Self::Content { .. } | Self::Warnings { .. } => {
                "drop the data set and populate again; if it comes back, the server alters rows"
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_site::server::{Address, TlsMode};

    fn target(database: Option<&str>) -> Target {
        Target {
            address: Address::Tcp { host: "localhost".to_owned(), port: 3306 },
            user: "root".to_owned(),
            password: None,
            database: database.map(str::to_owned),
            tls: TlsMode::Disabled,
            tls_ca: None,
        }
    }

    #[test]
    fn the_database_is_the_one_asked_for_or_the_targets_or_the_default() {
        let name = |target: &Target, asked| Workplace::new(target, asked, "tpcw").unwrap().database;
        assert_eq!(name(&target(None), None), "tpcw");
        assert_eq!(name(&target(Some("shop")), None), "shop");
        assert_eq!(name(&target(Some("shop")), Some("other")), "other");
    }

    #[test]
    fn a_database_name_that_would_need_escapes_is_refused() {
        for name in ["", "a`b", "a'b", "a\\b", "a b", "a.b", &"x".repeat(65)] {
            assert!(
                matches!(Workplace::new(&target(Some(name)), None, "tpcw"), Err(DataError::DatabaseName(_))),
                "{name}"
            );
        }
    }
}
