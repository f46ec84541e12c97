//! What a table is like from which records are dispatched, or to which they go.

use super::Create;
use crate::session;
use crate::table::{literal, quoted};
use evenkeel_site::server::{Control, Rows, TargetError, has_privilege};
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
pub struct Shape {
    pub table: String,
    /// Names and types of its columns, generated ones included.
    pub columns: Vec<(String, String)>,
    /// Names of those whose values are stored by a statement, not computed.
    pub given: Vec<String>,
    pub create: Create,
}

#[derive(Clone, Debug)]
pub struct By {
    pub column: String,
    /// Whether it has a time of day too.
    pub is_instant: bool,
    /// Whether an index begins with it.
    pub is_indexed: bool,
}

/// Sets the session so that values are copied as they are, and so that names read back as we quote them.
pub fn settle(control: &mut Control) -> Result<(), DispatchError> {
    session::settle(control)?;
    control.exec(
        "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION', \
         sql_quote_show_create = 1, sql_safe_updates = 0, sql_select_limit = 18446744073709551615, completion_type = 0",
    )?;
    // The rows that an INSERT ... SELECT has read stay as they are until the transaction ends in this level, and in no lower one.
    control.exec("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
    Ok(())
}

/// How long somebody else's dispatch of the same source is waited for, in seconds: as long as a statement may take to end whose
/// client was killed.
const LOCK_WAIT_S: u32 = 10;

/// One dispatch of a source at a time.
pub fn lock(control: &mut Control, table: &str) -> Result<(), DispatchError> {
    match session::lock(control, "dispatch", table, LOCK_WAIT_S)? {
        true => Ok(()),
        false => Err(DispatchError::Busy(table.to_owned())),
    }
}

pub fn exists(control: &mut Control, table: &str) -> Result<bool, TargetError> {
    let sql = format!(
        "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {}",
        literal(table.as_bytes())
    );
    Ok(control.query_value(&sql)?.is_some())
}

pub fn shape(control: &mut Control, table: &str) -> Result<Option<Shape>, DispatchError> {
    let which = format!("TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {}", literal(table.as_bytes()));
    let found =
        control.query(&format!("SELECT TABLE_TYPE, ENGINE FROM information_schema.TABLES WHERE {which}"))?;
    let Some(row) = found.rows.first() else { return Ok(None) };
    let (kind, engine) = (row[0].clone().unwrap_or_default(), row[1].clone().unwrap_or_default());
    let unfit = |what, hint| DispatchError::Unfit { table: table.to_owned(), what, hint };
    if kind != "BASE TABLE" {
        let what = format!("is a {}", kind.to_lowercase());
        return Err(unfit(what, "name a table of its own, without versions"));
    }
    if !engine.eq_ignore_ascii_case("InnoDB") {
        return Err(unfit(
            format!("has engine {engine}, and records are moved by transactions of InnoDB"),
            "ALTER TABLE ... ENGINE=InnoDB",
        ));
    }
    let columns = control.query(&format!(
        "SELECT COLUMN_NAME, COLUMN_TYPE, EXTRA FROM information_schema.COLUMNS WHERE {which} ORDER BY ORDINAL_POSITION"
    ))?;
    let text = |row: &[Option<String>], place: usize| row[place].clone().unwrap_or_default();
    let is_given = |row: &[Option<String>]| !text(row, 2).to_uppercase().contains(" GENERATED");
    let given = columns.rows.iter().filter(|row| is_given(row)).map(|row| text(row, 0)).collect();
    let columns = columns.rows.iter().map(|row| (text(row, 0), text(row, 1))).collect();
    let shown = control.query(&format!("SHOW CREATE TABLE {}", quoted(table)))?;
    let shown = shown.rows.first().map(|row| text(row, 1)).unwrap_or_default();
    let create = Create::parse(&shown)
        .ok_or_else(|| unfit("is described in an unknown way".to_owned(), "tell us its SHOW CREATE TABLE"))?;
    Ok(Some(Shape { table: table.to_owned(), columns, given, create }))
}

impl Shape {
    /// The columns whose values are copied, as they stand in a statement.
    pub fn list(&self) -> String {
        self.given.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
    }

    /// Whether records of `source` fit in here as they are.
    pub fn check_like(&self, source: &Self) -> Result<(), DispatchError> {
        let unfit = |what| DispatchError::Unfit {
            table: self.table.clone(),
            what,
            hint: "rename it, or alter it so that both are alike",
        };
        if self.columns != source.columns || self.given != source.given {
            let pairs = self.columns.iter().zip(&source.columns);
            let first = pairs.into_iter().find(|(ours, theirs)| ours != theirs);
            return Err(unfit(match first {
                Some(((ours, kind), (theirs, other))) => {
                    format!("has column {ours} {kind} where {} has {theirs} {other}", source.table)
                }
                None => format!("has other columns than {}", source.table),
            }));
        }
        Ok(())
    }

    pub fn by(&self, control: &mut Control, column: &str) -> Result<By, DispatchError> {
        let found = self.columns.iter().find(|(name, _)| name.eq_ignore_ascii_case(column));
        let (table, no) = (self.table.clone(), column.to_owned());
        let (name, kind) = found.ok_or(DispatchError::NoColumn { table, column: no })?;
        let is_instant = kind.starts_with("datetime");
        if !is_instant && kind != "date" {
            let why = match kind.starts_with("timestamp") {
                true => "whose day is not the same for everybody",
                false => "which is no date",
            };
            return Err(DispatchError::Unfit {
                table: self.table.clone(),
                what: format!("has column {name} of type {kind}, {why}"),
                hint: "--by takes a column of type DATE or DATETIME",
            });
        }
        let sql = format!(
            "SELECT 1 FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {} \
             AND SEQ_IN_INDEX = 1 AND COLUMN_NAME = {} LIMIT 1",
            literal(self.table.as_bytes()),
            literal(name.as_bytes())
        );
        let is_indexed = control.query_value(&sql)?.is_some();
        Ok(By { column: name.clone(), is_instant, is_indexed })
    }
}

/// A column of a key, and how many characters of it count, where not all.
pub type KeyPart = (String, Option<u64>);

/// The keys of a table that take no two rows alike; one of more than columns has none of its parts.
pub fn unique_keys(control: &mut Control, table: &str) -> Result<Vec<Vec<KeyPart>>, DispatchError> {
    let found = control.query(&format!(
        "SELECT INDEX_NAME, COLUMN_NAME, SUB_PART FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() \
         AND TABLE_NAME = {} AND NON_UNIQUE = 0 ORDER BY INDEX_NAME, SEQ_IN_INDEX",
        literal(table.as_bytes())
    ))?;
    let mut keys: BTreeMap<String, Option<Vec<KeyPart>>> = BTreeMap::new();
    for row in found.rows {
        let parts = keys.entry(row[0].clone().unwrap_or_default()).or_insert_with(|| Some(Vec::new()));
        match (&row[1], parts.as_mut()) {
            (Some(column), Some(parts)) => {
                parts.push((column.clone(), row[2].as_deref().and_then(|length| length.parse().ok())));
            }
            _ => *parts = None,
        }
    }
    Ok(keys.into_values().map(Option::unwrap_or_default).collect())
}

pub fn refuse_hangers_on(control: &mut Control, source: &Shape) -> Result<(), DispatchError> {
    let name = literal(source.table.as_bytes());
    let first = |rows: Rows| rows.value().map(str::to_owned);
    let unfit = |what, hint| Err(DispatchError::Unfit { table: source.table.clone(), what, hint });
    refuse_hidden_triggers(control, &source.table)?;
    // Columns that the account may not see would not be copied; this the server refuses then.
    control.query(&format!("SELECT * FROM {} LIMIT 0", quoted(&source.table)))?;
    let trigger = control.query(&format!(
        "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = DATABASE() \
         AND EVENT_OBJECT_TABLE = {name} AND EVENT_MANIPULATION LIKE '%DELETE%' LIMIT 1"
    ))?;
    if let Some(trigger) = first(trigger) {
        return unfit(
            format!("has trigger {trigger}, which a move would set off"),
            "drop it, or dispatch from a table without triggers",
        );
    }
    let key = control.query(&format!(
        "SELECT CONSTRAINT_NAME FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_NAME IS NOT NULL AND \
         ((TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {name}) OR \
         (REFERENCED_TABLE_SCHEMA = DATABASE() AND REFERENCED_TABLE_NAME = {name})) LIMIT 1"
    ))?;
    match first(key) {
        Some(key) => unfit(
            format!("has foreign key {key}, which day tables would not keep"),
            "drop it, or dispatch from a table without foreign keys",
        ),
        None => Ok(()),
    }
}

/// Refuses an account that may not see whether tables have triggers.
fn refuse_hidden_triggers(control: &mut Control, table: &str) -> Result<(), DispatchError> {
    let database = control.query_value("SELECT DATABASE()")?.unwrap_or_default();
    match has_privilege(control, "TRIGGER", &database)? {
        true => Ok(()),
        false => Err(DispatchError::Unfit {
            table: table.to_owned(),
            what: "may have triggers that this account cannot see, which a move would set off".to_owned(),
            hint: "GRANT TRIGGER on the database to the account itself: what a role brings may not be seen",
        }),
    }
}

/// Refuses a day table whose triggers would see, and might change, what comes in.
pub fn refuse_triggers(control: &mut Control, table: &str) -> Result<(), DispatchError> {
    let trigger = control.query_value(&format!(
        "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = DATABASE() \
         AND EVENT_OBJECT_TABLE = {} LIMIT 1",
        literal(table.as_bytes())
    ))?;
    match trigger {
        Some(trigger) => Err(DispatchError::Unfit {
            table: table.to_owned(),
            what: format!("has trigger {trigger}, which the records would set off"),
            hint: "drop it for the time of the dispatch",
        }),
        None => Ok(()),
    }
}

/// Why records were not dispatched, or day tables not retired. What was moved before is moved and in the journal.
#[derive(Debug, thiserror::Error)]
pub enum DispatchError {
    #[error(transparent)]
    Server(TargetError),
    #[error("--name {pattern}: {why}")]
    Pattern { pattern: String, why: &'static str },
    #[error("there is no table {0}")]
    NoTable(String),
    #[error("table {table} has no column {column}")]
    NoColumn { table: String, column: String },
    #[error("table {table} {what}")]
    Unfit { table: String, what: String, hint: &'static str },
    #[error("another dispatch of table {0} is under way")]
    Busy(String),
    #[error("table {table} has records of {days} days, and --max-days is {most}")]
    TooManyDays { table: String, days: usize, most: usize },
    #[error(
        "audited: {rows} rows in {table} and its day tables, {before} before; if the counts agree, some rows differ: rows were lost, duplicated, or changed by another client"
    )]
    Audit { table: String, before: u64, rows: u64 },
    #[error("table {table}: {what}")]
    Disagree { table: String, what: String },
}

/// ER_DUP_ENTRY, whose message has the values of the key.
const DUPLICATE: u16 = 1062;

impl From<TargetError> for DispatchError {
    /// Takes the server's error without the values of records, which belong neither into logs nor into JSON.
    fn from(mut error: TargetError) -> Self {
        if let TargetError::Statement { code: DUPLICATE, message, .. } = &mut error {
            let key = message.rfind(" for key ").map_or("", |at| &message[at..]);
            *message = format!("two records are alike{key}");
        }
        Self::Server(error)
    }
}

impl DispatchError {
    pub fn is_stop(&self) -> bool {
        matches!(self, Self::Server(TargetError::Stopped))
    }

    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Server(error) => error.hint(),
            Self::Pattern { .. } => Some("as --name '{table}_{day}', where {day} becomes yyyymmdd"),
            Self::NoTable(_) => Some("load the records first, or correct --table"),
            Self::NoColumn { .. } => Some("correct --by"),
            Self::Unfit { hint, .. } => Some(hint),
            Self::Busy(_) => Some("wait for it; a statement of a client that was killed ends by itself"),
            Self::TooManyDays { .. } => Some(
                "look at the dates of the records: some may be wrong; raise --max-days where they are right",
            ),
            Self::Audit { .. } => {
                Some("compare the files with the tables: `evenkeel cdr audit` names each record")
            }
            Self::Disagree { .. } => Some("nothing was deleted: compare both tables, then run it again"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_comes_again_is_told_without_its_values() {
        let message = "Duplicate entry '346900 for key x' for key 'PRIMARY'".to_owned();
        let error = TargetError::Statement { sql: "INSERT".to_owned(), code: 1062, message };
        let told = DispatchError::from(error).to_string();
        assert!(told.contains("for key 'PRIMARY'") && !told.contains("346900"), "{told}");
    }
}
