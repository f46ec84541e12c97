//! Statements by the digests of a server's performance schema, with parameters drawn from the columns that they are compared with.

use super::Group;
use crate::workload::Value;
use crate::workload::sql::{Column, Role, Shape, last_part, normal, shape};
use crate::workload::user::{COLUMN_LIMIT, Generator, ParameterDefinitions};
use evenkeel_site::server::{Control, Flavor, TargetError};
use std::collections::BTreeMap;

/// A list, whose length no digest has.
const LIST: &str = "(?, ?, ?)";
/// LIMIT without its number.
const LIMIT: i64 = 10;
/// Longest random text.
const TEXT_MAX: u64 = 20;

/// What the server has counted for the current database since its statistics were reset.
/// Errors: a question that the server does not answer, for want of a privilege for one.
pub fn read_digests(control: &mut Control) -> Result<Vec<Group>, TargetError> {
    let rows = control.query(
        "SELECT DIGEST_TEXT, COUNT_STAR, SUM_TIMER_WAIT / 1e12 \
         FROM performance_schema.events_statements_summary_by_digest WHERE SCHEMA_NAME = DATABASE() AND COUNT_STAR > 0",
    )?;
    let schema = Schema::read(control)?;
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for row in rows.rows {
        let digest = row.first().and_then(Option::as_deref).unwrap_or_default();
        let found = group(control, &schema, digest)?;
        let same = groups.entry(found.sql.clone()).or_insert(found);
        same.executions += number(&row, 1) as u64;
        same.time_s += number(&row, 2);
    }
    Ok(groups.into_values().chain(prepared(control)?).collect())
}

fn number(row: &[Option<String>], at: usize) -> f64 {
    row.get(at).and_then(|text| text.as_ref()?.parse().ok()).unwrap_or(0.0)
}

/// Executions of prepared statements, for which MariaDB keeps no digest.
fn prepared(control: &mut Control) -> Result<Option<Group>, TargetError> {
    if control.version().flavor != Flavor::MariaDb {
        return Ok(None);
    }
    let rows = control.query(
        "SELECT COUNT_STAR, SUM_TIMER_WAIT / 1e12 FROM performance_schema.events_statements_summary_global_by_event_name \
         WHERE EVENT_NAME = 'statement/com/Execute' AND COUNT_STAR > 0",
    )?;
    let group = |row: &Vec<Option<String>>| Group {
        sql: "prepared statements of all databases".to_owned(),
        executions: number(row, 0) as u64,
        time_s: number(row, 1),
        problem: Some("MariaDB keeps no digests of them; its slow log has them".to_owned()),
        ..Group::default()
    };
    Ok(rows.rows.first().map(group))
}

fn group(control: &mut Control, schema: &Schema, digest: &str) -> Result<Group, TargetError> {
    let sql = statement(digest);
    let group = Group { sql, ..Group::default() };
    if super::problem(&group.sql).is_some() {
        return Ok(group);
    }
    let refuse = |why: &str| Ok(Group { problem: Some(why.to_owned()), ..group.clone() });
    if digest.trim_end().ends_with("...") && !digest.trim_end().ends_with("?, ...") {
        return refuse("the server kept only its beginning; raise performance_schema_max_digest_length");
    }
    let shape = shape(&group.sql);
    let mut generators = Vec::new();
    for (place, role) in shape.roles.iter().enumerate() {
        match schema.generator(control, &shape, role)? {
            Some(generator) => generators.push(generator),
            None => return refuse(&format!("cannot tell which values placeholder {} takes", place + 1)),
        }
    }
    match control.prepare(&group.sql) {
        Ok(_) => Ok(Group { parameters: ParameterDefinitions::Positional(generators), ..group }),
        Err(TargetError::Statement { .. }) if group.sql.contains("...") => {
            refuse("the server shortens its list of values; its slow log has it whole")
        }
        Err(TargetError::Statement { code, message, .. }) => {
            refuse(&format!("the server refuses the text of its digest: error {code}: {message}"))
        }
        Err(error) => Err(error),
    }
}

/// A digest as a statement: names joined, lists filled in.
fn statement(digest: &str) -> String {
    let text = digest
        .replace(" . ", ".")
        .replace(" (", "(")
        .replace("( ", "(")
        .replace(" )", ")")
        .replace(" ,", ",");
    // MySQL has executions of what was prepared by SQL as such.
    let text = match text.strip_prefix("EXECUTE ") {
        Some(rest) if !rest.starts_with('`') => rest.to_owned(),
        _ => text,
    };
    let text = text.replace("SQL_TSI_", "").replace("LIMIT ?, ...", "LIMIT ?, ?").replace("@ ", "@");
    let mut sql = normal(&text).sql.replace("IN(...)", &format!("IN {LIST}"));
    let columns = inserted(&sql);
    if columns > 0 {
        sql = sql.replace("VALUES(...)", &format!("VALUES ({})", vec!["?"; columns].join(", ")));
    }
    sql.replace("VALUES(", "VALUES (")
}

/// How many columns an INSERT names.
fn inserted(sql: &str) -> usize {
    let list = sql.split_once("VALUES(...)").and_then(|(head, _)| head.trim_end().strip_suffix(')'));
    list.and_then(|head| head.rsplit_once('(')).map_or(0, |(_, list)| list.split(',').count())
}

/// A column as the server describes it.
struct Described {
    kind: String,
    length: u64,
    key: String,
}

/// The columns of the current database, by table, in their order.
struct Schema(BTreeMap<String, Vec<(String, Described)>>);

impl Schema {
    fn read(control: &mut Control) -> Result<Self, TargetError> {
        let rows = control.query(
            "SELECT TABLE_NAME, COLUMN_NAME, DATA_TYPE, COALESCE(CHARACTER_MAXIMUM_LENGTH, 0), COLUMN_KEY \
             FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME, ORDINAL_POSITION",
        )?;
        let mut tables: BTreeMap<String, Vec<(String, Described)>> = BTreeMap::new();
        for row in rows.rows {
            let mut texts = row.into_iter().map(Option::unwrap_or_default);
            let mut next = || texts.next().unwrap_or_default();
            let (table, column) = (next(), next());
            let described =
                Described { kind: next().to_lowercase(), length: next().parse().unwrap_or(0), key: next() };
            tables.entry(table).or_default().push((column, described));
        }
        Ok(Self(tables))
    }

    /// The table and the name of a column, as the server has them.
    fn find(&self, shape: &Shape, column: &Column) -> Option<(&str, &str, &Described)> {
        let in_table = |table: &str| {
            let (name, columns) = self.0.get_key_value(last_part(table))?;
            let (column, described) =
                columns.iter().find(|(name, _)| name.eq_ignore_ascii_case(&column.name))?;
            Some((name.as_str(), column.as_str(), described))
        };
        shape.tables_of(column).into_iter().find_map(in_table)
    }

    fn generator(
        &self,
        control: &mut Control,
        shape: &Shape,
        role: &Role,
    ) -> Result<Option<Generator>, TargetError> {
        let (column, is_new) = match role {
            Role::Limit => return Ok(Some(Generator::Constant(Value::Int(LIMIT)))),
            Role::Offset => return Ok(Some(Generator::Constant(Value::Int(0)))),
            Role::Step => return Ok(Some(Generator::Constant(Value::Int(1)))),
            Role::Unknown => return Ok(None),
            Role::Compared(column) => (column, false),
            Role::Inserted(column) => (column, true),
        };
        let Some((table, name, described)) = self.find(shape, column) else { return Ok(None) };
        if is_new && self.is_unique(table, name, described) {
            return Ok(described.new_value(table, name));
        }
        let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
        let (from, of) = (quoted(table), quoted(name));
        let any = control.query_value(&format!("SELECT 1 FROM {from} WHERE {of} IS NOT NULL LIMIT 1"))?;
        let drawn =
            Generator::Column { table: table.to_owned(), column: name.to_owned(), limit: COLUMN_LIMIT };
        Ok(any.map(|_| drawn))
    }

    /// Whether a new row needs a new value there: of a primary key with several columns only in its last number.
    fn is_unique(&self, table: &str, name: &str, described: &Described) -> bool {
        let is_number = |other: &Described| other.key == "PRI" && other.kind.ends_with("int");
        let last = self.0[table].iter().rfind(|(_, other)| is_number(other));
        described.key == "UNI" || described.key == "PRI" && last.is_none_or(|(last, _)| last == name)
    }
}

impl Described {
    /// A value that no row has.
    fn new_value(&self, table: &str, column: &str) -> Option<Generator> {
        let most = self.length.min(TEXT_MAX);
        match self.kind.as_str() {
            kind if kind.ends_with("int") => {
                Some(Generator::Next { table: table.to_owned(), column: column.to_owned() })
            }
            kind if kind.ends_with("char") => Some(Generator::Text { min: most, max: most }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_becomes_a_statement_that_a_server_takes() {
        for (digest, sql) in [
            (
                "SELECT COUNT ( * ) FROM `shop` . `orders` `o` WHERE `o` . `id` IN (...) LIMIT ?, ... ",
                "SELECT COUNT(*) FROM `shop`.`orders` `o` WHERE `o`.`id` IN (?, ?, ?) LIMIT ?, ?",
            ),
            (
                "INSERT INTO `orders` ( `customer` , STATUS ) VALUES (...) /* , ... */ ",
                "INSERT INTO `orders`(`customer`, STATUS) VALUES (?, ?)",
            ),
            (
                "SELECT ID FROM `t` WHERE `a` > NOW () - INTERVAL ? SQL_TSI_DAY",
                "SELECT ID FROM `t` WHERE `a` > NOW() - INTERVAL ? DAY",
            ),
        ] {
            assert_eq!(statement(digest), sql);
        }
    }
}
