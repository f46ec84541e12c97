//! A table is built anew in place by the server, so that its rows and indexes lie in the order of their keys.

mod progress;

use crate::server::{Control, Flavor, Rows, Target, TargetError, literal, quoted};
use evenkeel_os::Stop;
use progress::Watch;
pub use progress::{Progress, Told};
use serde::Serialize;
use std::path::Path;

pub struct Relayout<'a> {
    pub target: &'a Target,
    /// Seconds that somebody else's transaction on a table is waited for: whoever comes meanwhile waits behind that.
    pub lock_wait_s: u32,
    /// The server's folder of data, where it is on this machine.
    pub data: Option<&'a Path>,
    /// Ends it early: the table is as it was then.
    pub stop: &'a Stop,
}

impl Relayout<'_> {
    /// Builds a table anew, whose file will have so many bytes, about.
    /// Errors: why it is refused, or what the server said. The table is as it was.
    pub fn run(
        &self,
        (facts, rebuilt_bytes): (&Facts, u64),
        tell: &mut dyn FnMut(Told<'_>),
    ) -> Result<Done, RelayoutError> {
        if let Some(error) = facts.refusal() {
            return Err(error);
        }
        if self.stop.is_set() {
            return Err(RelayoutError::Server(TargetError::Stopped));
        }
        let mut control = Control::connect_until(self.target, self.stop)?;
        prepare(&mut control, self.lock_wait_s)?;
        let folder = self.target.database.as_deref().and_then(|name| Some(self.data?.join(name)));
        let watch = Watch { target: self.target, folder, rebuilt_bytes, stop: self.stop };
        let done = run(&mut control, &watch, (&facts.table, self.lock_wait_s), tell)?;
        // The statistics are of the old pages, and so would be the plans; a server that makes none now will later.
        let _ = control.query(&format!("ANALYZE TABLE {}", quoted(&facts.table)));
        Ok(done)
    }
}

/// Whom a relayout keeps waiting while it builds. At its end everybody waits for a moment, or for who is at the table then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Waits {
    /// Nobody, but for moments at the begin and the end.
    Nobody,
    /// Who writes to the table, all the time that it takes.
    Writers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Done {
    pub waits: Waits,
}

/// From the one that keeps nobody waiting to the one that any table allows.
const MANNERS: [(&str, &str, Waits); 3] = [
    ("INPLACE", "NONE", Waits::Nobody),
    ("INPLACE", "SHARED", Waits::Writers),
    ("COPY", "SHARED", Waits::Writers),
];

/// ER_ALTER_OPERATION_NOT_SUPPORTED, and the same with a reason: for a table like this one another manner has to be taken.
const NOT_SUPPORTED: [u16; 2] = [1845, 1846];

/// Whether it has a column that the server computes where a row is written, and does not where rows stay as they are.
fn has_stored(control: &mut Control, table: &str) -> Result<bool, RelayoutError> {
    let sql = format!(
        "SELECT 1 FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {} \
         AND EXTRA LIKE '%STORED GENERATED%' LIMIT 1",
        named(table)
    );
    Ok(control.query_value(&sql)?.is_some())
}

/// Has the server do it, in the first manner that it takes.
fn run(
    control: &mut Control,
    watch: &Watch<'_>,
    (table, lock_wait_s): (&str, u32),
    tell: &mut dyn FnMut(Told<'_>),
) -> Result<Done, RelayoutError> {
    let mut refused = RelayoutError::NoTable(table.to_owned());
    let computes = has_stored(control, table)?;
    for (algorithm, lock, waits) in MANNERS {
        if computes && algorithm == "COPY" {
            return Err(RelayoutError::Refused {
                table: table.to_owned(),
                what: "has a stored generated column, whose values a copy may change, and the server cannot \
                       rebuild it in place"
                    .to_owned(),
                hint: "drop what prevents the rebuild, such as a FULLTEXT index, and add it again afterwards",
            });
        }
        tell(Told::Step(&format!("rebuilding {table} (ALGORITHM={algorithm}, LOCK={lock})")));
        let sql = format!("ALTER TABLE {} FORCE, ALGORITHM={algorithm}, LOCK={lock}", quoted(table));
        match watch.exec(control, &sql, tell) {
            Ok(_) => return Ok(Done { waits }),
            Err(error) => {
                let is_other_manner = error.code().is_some_and(|code| NOT_SUPPORTED.contains(&code));
                refused = explained(error, table, lock_wait_s);
                if !is_other_manner {
                    break;
                }
            }
        }
    }
    Err(refused)
}

/// ER_LOCK_WAIT_TIMEOUT: somebody held the table for too long.
const TIMED_OUT: u16 = 1205;

/// Rows are taken as they are, also those that stricter settings would refuse today, and instants are told apart by UTC.
fn prepare(control: &mut Control, lock_wait_s: u32) -> Result<(), TargetError> {
    control.exec(&format!(
        "SET SESSION lock_wait_timeout = {lock_wait_s}, sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES', \
         foreign_key_checks = 1, wait_timeout = 2147483, time_zone = '+00:00'"
    ))?;
    // MariaDB alone has it.
    match control.exec("SET SESSION check_constraint_checks = 0") {
        Err(TargetError::Statement { .. }) | Ok(_) => Ok(()),
        Err(error) => Err(error),
    }
}

/// A lock that did not come is told as what it is.
fn explained(error: TargetError, table: &str, seconds: u32) -> RelayoutError {
    match error.code() {
        Some(TIMED_OUT) => RelayoutError::Held { table: table.to_owned(), seconds },
        _ => error.into(),
    }
}

/// A table, and what hangs on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Facts {
    pub table: String,
    /// `BASE TABLE` of one with rows of its own.
    pub kind: String,
    pub engine: String,
    /// Rows, as the server estimates them.
    pub rows_estimate: u64,
    /// Bytes of data and indexes, as the server counts their pages.
    pub bytes: u64,
    /// Bytes within its file that nothing uses.
    pub free_bytes: u64,
    /// Foreign keys of its own, and of others that refer to it.
    pub foreign_keys: Vec<String>,
    /// Triggers that its changes set off.
    pub triggers: Vec<String>,
    /// Columns that the server computes.
    pub generated: Vec<String>,
    /// Partitions; none of a table without.
    pub partitions: Vec<String>,
}

/// All tables of these names, or all InnoDB tables of the database.
/// Errors: a name that is not there, or what the server said.
pub fn tables(control: &mut Control, names: &[String]) -> Result<Vec<Facts>, RelayoutError> {
    if control.query_value("SELECT DATABASE()")?.is_none() {
        return Err(RelayoutError::NoDatabase);
    }
    if names.iter().any(String::is_empty) {
        return Err(RelayoutError::NoName);
    }
    let which = match names {
        [] => String::new(),
        names => {
            let names: Vec<String> = names.iter().map(|name| named(name)).collect();
            format!("AND TABLE_NAME IN ({})", names.join(", "))
        }
    };
    let all = control.query(&format!(
        "SELECT TABLE_NAME, TABLE_TYPE, COALESCE(ENGINE, ''), COALESCE(TABLE_ROWS, 0), \
         COALESCE(DATA_LENGTH, 0) + COALESCE(INDEX_LENGTH, 0), COALESCE(DATA_FREE, 0) FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA = DATABASE() {which} ORDER BY TABLE_NAME"
    ))?;
    let mut found: Vec<Facts> = all.rows.iter().map(|row| plain(row)).collect();
    if let Some(name) = names.iter().find(|name| found.iter().all(|facts| &&facts.table != name)) {
        return Err(RelayoutError::NoTable(name.clone()));
    }
    if names.is_empty() {
        found.retain(Facts::is_innodb);
    }
    for facts in &mut found {
        facts.ask(control)?;
    }
    Ok(found)
}

/// Of a row of `information_schema.TABLES`.
fn plain(row: &[Option<String>]) -> Facts {
    let text = |place: usize| row[place].clone().unwrap_or_default();
    let number = |place: usize| text(place).parse().unwrap_or_default();
    Facts {
        table: text(0),
        kind: text(1),
        engine: text(2),
        rows_estimate: number(3),
        bytes: number(4),
        free_bytes: number(5),
        ..Facts::default()
    }
}

impl Facts {
    fn is_innodb(&self) -> bool {
        self.kind == "BASE TABLE" && self.engine.eq_ignore_ascii_case("InnoDB")
    }

    fn ask(&mut self, control: &mut Control) -> Result<(), RelayoutError> {
        let table = named(&self.table);
        self.foreign_keys = first(control.query(&format!(
            "SELECT CONCAT(CONSTRAINT_NAME, ' of ', TABLE_NAME) FROM information_schema.REFERENTIAL_CONSTRAINTS \
             WHERE (CONSTRAINT_SCHEMA = DATABASE() AND TABLE_NAME = {table}) \
             OR (UNIQUE_CONSTRAINT_SCHEMA = DATABASE() AND REFERENCED_TABLE_NAME = {table}) ORDER BY 1"
        ))?);
        self.triggers = first(control.query(&format!(
            "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = DATABASE() \
             AND EVENT_OBJECT_TABLE = {table} ORDER BY 1"
        ))?);
        self.generated = first(control.query(&format!(
            "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {table} \
             AND COALESCE(GENERATION_EXPRESSION, '') <> '' ORDER BY ORDINAL_POSITION"
        ))?);
        self.partitions = first(control.query(&format!(
            "SELECT PARTITION_NAME FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {table} \
             AND PARTITION_NAME IS NOT NULL GROUP BY PARTITION_NAME ORDER BY 1"
        ))?);
        Ok(())
    }

    /// Why it cannot be built anew.
    pub fn refusal(&self) -> Option<RelayoutError> {
        if self.is_innodb() {
            return None;
        }
        let what = match self.kind.as_str() {
            "BASE TABLE" => format!("has engine {}", self.engine),
            "SYSTEM VERSIONED" => "keeps its history (system versioning)".to_owned(),
            kind => format!("is a {}", kind.to_lowercase()),
        };
        Some(RelayoutError::Refused { table: self.table.clone(), what, hint: "name ordinary InnoDB tables" })
    }

    /// What hangs on it and stays, as parts of a sentence.
    pub fn kept(&self) -> Vec<String> {
        let of = |what: &str, names: &[String]| {
            (!names.is_empty()).then(|| format!("{what} {}", names.join(", ")))
        };
        let all = [
            of("foreign keys", &self.foreign_keys),
            of("triggers", &self.triggers),
            of("generated columns", &self.generated),
            of("partitions", &self.partitions),
        ];
        all.into_iter().flatten().collect()
    }
}

/// A name as a value that compares with those that the server lists.
fn named(name: &str) -> String {
    format!("CONVERT({} USING utf8)", literal(name.as_bytes()))
}

fn first(rows: Rows) -> Vec<String> {
    rows.rows.into_iter().filter_map(|row| row.into_iter().next()?).collect()
}

/// Seconds that a replica is behind, the most of all its sources; `None` where it does not replicate now.
/// Errors: it is no replica, or what the server said.
pub fn lag_s(replica: &Target, stop: &Stop) -> Result<Option<u64>, RelayoutError> {
    let mut control = Control::connect_until(replica, stop)?;
    let mut answer = control.query(match control.version().flavor {
        Flavor::MariaDb => "SHOW ALL SLAVES STATUS",
        Flavor::MySql => "SHOW REPLICA STATUS",
    });
    /// ER_PARSE_ERROR: MySQL before 8.0.22 has the old word alone.
    const UNKNOWN: u16 = 1064;
    if answer.as_ref().is_err_and(|error| error.code() == Some(UNKNOWN)) {
        answer = control.query("SHOW SLAVE STATUS");
    }
    let answer = answer?;
    let column = answer.column("Seconds_Behind_Source").or_else(|| answer.column("Seconds_Behind_Master"));
    let column = column.filter(|_| !answer.rows.is_empty());
    let column = column.ok_or_else(|| RelayoutError::NoReplica(replica.to_string()))?;
    let seconds = answer.rows.iter().map(|row| row.get(column)?.as_deref()?.parse::<u64>().ok());
    Ok(seconds.collect::<Option<Vec<u64>>>().and_then(|all| all.into_iter().max()))
}

/// Why a table is not built anew.
#[derive(Debug, thiserror::Error)]
pub enum RelayoutError {
    #[error(transparent)]
    Server(#[from] TargetError),
    #[error("the target names no database")]
    NoDatabase,
    #[error("a table has no name")]
    NoName,
    #[error("there is no table {0} in the database, or none that this account may read")]
    NoTable(String),
    #[error("{0} is not a replica")]
    NoReplica(String),
    #[error("table {table} {what}")]
    Refused { table: String, what: String, hint: &'static str },
    #[error("another client held table {table} for longer than {seconds} s")]
    Held { table: String, seconds: u32 },
}

impl RelayoutError {
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Server(error) => error.hint(),
            Self::NoDatabase => Some("write it as mysql://user@host:port/DATABASE"),
            Self::NoName => Some("write them as --tables item,author"),
            Self::NoReplica(_) => Some("--replica names a server that replicates from this one"),
            Self::NoTable(_) => Some("SHOW TABLES lists them"),
            Self::Refused { hint, .. } => Some(hint),
            Self::Held { .. } => Some(
                "SHOW FULL PROCESSLIST shows which client uses the table; run the same again once it is done",
            ),
        }
    }

    pub fn is_stop(&self) -> bool {
        matches!(self, Self::Server(TargetError::Stopped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item() -> Facts {
        Facts {
            table: "item".to_owned(),
            kind: "BASE TABLE".to_owned(),
            engine: "InnoDB".to_owned(),
            ..Facts::default()
        }
    }

    #[test]
    fn what_hangs_on_a_table_is_no_reason_to_refuse_it_and_is_told_by_name() {
        let facts = Facts {
            foreign_keys: vec!["to_author of item".to_owned()],
            triggers: vec!["takes_note".to_owned()],
            generated: vec!["area".to_owned()],
            partitions: vec!["p0".to_owned(), "p1".to_owned()],
            ..item()
        };
        assert!(facts.refusal().is_none());
        let kept = [
            "foreign keys to_author of item",
            "triggers takes_note",
            "generated columns area",
            "partitions p0, p1",
        ];
        assert_eq!(facts.kept(), kept);
    }

    #[test]
    fn what_has_no_pages_in_an_order_of_keys_is_refused() {
        let view = Facts { kind: "VIEW".to_owned(), engine: String::new(), ..item() };
        let other = Facts { engine: "Aria".to_owned(), ..item() };
        for (facts, expected) in [(view, "is a view"), (other, "has engine Aria")] {
            assert!(facts.refusal().unwrap().to_string().contains(expected));
        }
    }
}
