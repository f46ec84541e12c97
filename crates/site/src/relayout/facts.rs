//! What a table has that a new one must have too.

use super::names::{beside, has_room, is_ours, named};
use super::sums::made;
use super::{How, RelayoutError};
use crate::server::{Control, Rows, TargetError, has_privilege};
use serde::Serialize;

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
    /// Whether this account would not see foreign keys that are there, of tables of other databases.
    pub hides_foreign_keys: bool,
    /// Triggers that its changes set off.
    pub triggers: Vec<String>,
    /// Whether this account would not see triggers that are there.
    pub hides_triggers: bool,
    /// Columns that the server computes.
    pub generated: Vec<String>,
    /// Partitions; none of a table without.
    pub partitions: Vec<String>,
    /// The name of the table as it was before an earlier relayout, where that is there still.
    pub left_over: Option<String>,
    /// Whether its files lie in a folder of their own (`DATA DIRECTORY`).
    pub lies_elsewhere: bool,
}

/// All tables of these names, or all InnoDB tables of the database.
///
/// # Errors
/// A name that is not there, or what the server said.
pub fn tables(control: &mut Control, names: &[String]) -> Result<Vec<Facts>, RelayoutError> {
    let database = control.query_value("SELECT DATABASE()")?.ok_or(RelayoutError::NoDatabase)?;
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
        found.retain(|facts| facts.is_innodb() && !is_ours(&facts.table));
    }
    let hides_triggers = !has_privilege(control, "TRIGGER", &database)?;
    for facts in &mut found {
        facts.ask(control)?;
        facts.hides_triggers = hides_triggers;
    }
    Ok(found)
}

pub(super) fn one(control: &mut Control, table: &str) -> Result<Facts, RelayoutError> {
    let mut found = tables(control, &[table.to_owned()])?;
    found.pop().ok_or_else(|| RelayoutError::NoTable(table.to_owned()))
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
        (self.foreign_keys, self.hides_foreign_keys) = foreign_keys(control, &self.table)?;
        self.triggers = triggers(control, &self.table)?;
        self.generated = first(control.query(&format!(
            "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {table} \
             AND COALESCE(GENERATION_EXPRESSION, '') <> '' ORDER BY ORDINAL_POSITION"
        ))?);
        self.partitions = first(control.query(&format!(
            "SELECT PARTITION_NAME FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {table} \
             AND PARTITION_NAME IS NOT NULL GROUP BY PARTITION_NAME ORDER BY 1"
        ))?);
        let (_, before) = beside(&self.table);
        let there = control.query_value(&format!(
            "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {}",
            named(&before)
        ))?;
        self.left_over = there.map(|_| before);
        // Of a partition it is written with spaces.
        let made = if self.is_innodb() { made(control, &self.table)? } else { String::new() };
        self.lies_elsewhere =
            [" DATA DIRECTORY=", " DATA DIRECTORY ="].iter().any(|place| made.contains(place));
        Ok(())
    }

    /// Why it cannot be done this way.
    pub fn refusal(&self, how: How) -> Option<RelayoutError> {
        let refused =
            |what: String, hint| Some(RelayoutError::Refused { table: self.table.clone(), what, hint });
        if !self.is_innodb() {
            let what = match self.kind.as_str() {
                "BASE TABLE" => format!("has engine {}", self.engine),
                "SYSTEM VERSIONED" => {
                    "keeps its history (system versioning), which cannot be copied".to_owned()
                }
                kind => format!("is a {}", kind.to_lowercase()),
            };
            return refused(what, "name ordinary InnoDB tables");
        }
        if how == How::InPlace {
            return None;
        }
        let in_place = "relayout it in place (without --fresh), which keeps them";
        if let Some(before) = &self.left_over {
            let what = format!("was rebuilt before, and the old table is kept as {before}");
            return refused(
                what,
                "check that the table is complete, drop the old one, and run the same again",
            );
        }
        if !has_room(&self.table) {
            return refused(
                "has a name too long for a copy beside it".to_owned(),
                "relayout it in place (without --fresh)",
            );
        }
        if self.lies_elsewhere {
            return refused("has a DATA DIRECTORY, which a fresh copy would lose".to_owned(), in_place);
        }
        // A foreign key belongs to its table and not to the name, and so does a trigger: both would go with the old one.
        match (self.foreign_keys.first(), self.triggers.first()) {
            (Some(key), _) => {
                refused(format!("has foreign key {key}, which a fresh copy would lose"), in_place)
            }
            (None, Some(name)) => {
                refused(format!("has trigger {name}, which a fresh copy would lose"), in_place)
            }
            (None, None) if self.hides_triggers => refused(
                "may have triggers that this account cannot see, and a fresh copy would lose them".to_owned(),
                "grant the account TRIGGER on the database, or relayout it in place (without --fresh)",
            ),
            (None, None) if self.hides_foreign_keys => refused(
                "may be referred to by foreign keys of databases that this account cannot see, and a fresh copy would lose them".to_owned(),
                "grant the account PROCESS, with which the server shows all of them, or relayout it in \
                 place (without --fresh)",
            ),
            (None, None) => None,
        }
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

/// Foreign keys of a table and those that refer to it, and whether there may be some of the latter that the account does not see: the
/// standard's tables tell of none in databases where it may do nothing, InnoDB's own tell of all, to an account with PROCESS.
pub(super) fn foreign_keys(control: &mut Control, table: &str) -> Result<(Vec<String>, bool), RelayoutError> {
    let name = named(table);
    let mut found = first(control.query(&format!(
        "SELECT CONCAT(CONSTRAINT_NAME, ' of ', TABLE_NAME) FROM information_schema.REFERENTIAL_CONSTRAINTS \
         WHERE (CONSTRAINT_SCHEMA = DATABASE() AND TABLE_NAME = {name}) \
         OR (UNIQUE_CONSTRAINT_SCHEMA = DATABASE() AND REFERENCED_TABLE_NAME = {name}) ORDER BY 1"
    ))?);
    match referring(control, &name) {
        // A key is not told twice: those of its own database stand there already.
        Ok(Some(all)) if found.is_empty() => found = all,
        Ok(Some(_)) => {}
        Ok(None) | Err(TargetError::Statement { .. }) => return Ok((found, true)),
        Err(error) => return Err(error.into()),
    }
    Ok((found, false))
}

/// Foreign keys that refer to a table by InnoDB's own account, which an account without PROCESS does not get; `None` where the server has none.
fn referring(control: &mut Control, name: &str) -> Result<Option<Vec<String>>, TargetError> {
    let lists = control.query(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'information_schema' \
         AND TABLE_NAME IN ('INNODB_SYS_FOREIGN', 'INNODB_FOREIGN')",
    )?;
    let Some(list) = first(lists).pop() else { return Ok(None) };
    // MariaDB and MySQL before 8.0 have names as those of files, in which most signs are numbers.
    let is_encoded = list.contains("SYS");
    let file = |name: &str| match is_encoded {
        true => format!("CAST(CONVERT({name} USING filename) AS BINARY)"),
        false => format!("CAST(CONVERT({name} USING utf8) AS BINARY)"),
    };
    let shown = |part: i32| {
        let part = format!("SUBSTRING_INDEX(FOR_NAME, '/', {part})");
        match is_encoded {
            true => format!("CONVERT(CONVERT(CAST({part} AS BINARY) USING filename) USING utf8)"),
            false => part,
        }
    };
    let rows = control.query(&format!(
        "SELECT CONCAT(SUBSTRING_INDEX(ID, '/', -1), ' of ', {}, '.', {}) FROM information_schema.{list} \
         WHERE CAST(REF_NAME AS BINARY) = CONCAT({}, '/', {}) ORDER BY 1",
        shown(1),
        shown(-1),
        file("DATABASE()"),
        file(name)
    ))?;
    Ok(Some(first(rows)))
}

pub(super) fn triggers(control: &mut Control, table: &str) -> Result<Vec<String>, RelayoutError> {
    Ok(first(control.query(&format!(
        "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = DATABASE() \
         AND EVENT_OBJECT_TABLE = {} ORDER BY 1",
        named(table)
    ))?))
}

fn first(rows: Rows) -> Vec<String> {
    rows.rows.into_iter().filter_map(|row| row.into_iter().next()?).collect()
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
    fn what_a_copy_would_lose_is_refused_by_name_and_stays_in_place() {
        let keyed = Facts { foreign_keys: vec!["to_author of item".to_owned()], ..item() };
        let triggered = Facts { triggers: vec!["takes_note".to_owned()], ..item() };
        for (facts, name) in [(&keyed, "to_author of item"), (&triggered, "takes_note")] {
            let error = facts.refusal(How::Fresh).unwrap();
            assert!(
                error.to_string().contains(name) && error.hint().unwrap().contains("in place"),
                "{error}"
            );
            assert!(facts.refusal(How::InPlace).is_none() && facts.kept()[0].contains(name));
        }
        let hidden = Facts { hides_triggers: true, ..item() };
        assert!(hidden.refusal(How::Fresh).unwrap().to_string().contains("cannot see"));
        assert!(hidden.refusal(How::InPlace).is_none());
        let referred = Facts { hides_foreign_keys: true, ..item() };
        assert!(referred.refusal(How::Fresh).unwrap().hint().unwrap().contains("PROCESS"));
        assert!(referred.refusal(How::InPlace).is_none());
        let partitioned =
            Facts { partitions: vec!["p0".to_owned()], generated: vec!["area".to_owned()], ..item() };
        assert!(partitioned.refusal(How::Fresh).is_none());
        assert_eq!(partitioned.kept(), ["generated columns area", "partitions p0"]);
    }

    #[test]
    fn what_has_no_pages_in_an_order_of_keys_is_refused() {
        let view = Facts { kind: "VIEW".to_owned(), engine: String::new(), ..item() };
        let other = Facts { engine: "Aria".to_owned(), ..item() };
        for (facts, expected) in [(view, "is a view"), (other, "has engine Aria")] {
            for how in [How::InPlace, How::Fresh] {
                assert!(facts.refusal(how).unwrap().to_string().contains(expected));
            }
        }
    }
}
