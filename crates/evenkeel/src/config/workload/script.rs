//! Workloads as SQL: statements ended by `;`, with what is said of each in comments before it.

use crate::config::generator;
use anyhow::{Result, anyhow, bail};
use evenkeel_lab::workload::capture::statement_name;
use evenkeel_lab::workload::sql::{control, parse, split};
use evenkeel_lab::workload::user::{
    COLUMN_LIMIT, Definition, Generator, ParameterDefinitions, StatementDefinition, TransactionDefinition,
};
use std::collections::BTreeMap;

/// Whether a file is one: by its name, or since it does not begin as TOML does.
pub fn is_script(file: &str, text: &str) -> bool {
    let significant = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    let is_key = |line: &str| {
        let rest = line.trim_start_matches(|sign: char| sign.is_alphanumeric() || "_-\"".contains(sign));
        line.starts_with('[') || rest.trim_start().starts_with('=')
    };
    let is_sql = || text.contains(';') || parse(text).is_prepared();
    file.ends_with(".sql")
        || significant.is_some_and(|line| line.starts_with("--") || !is_key(line) && is_sql())
}

type Line<'a> = (usize, &'a str);

/// Reads a script. What stands between BEGIN and COMMIT is a transaction.
/// Errors: names the line and what is wrong there.
pub fn definition(text: &str) -> Result<Definition> {
    let (mut names, mut next) = (BTreeMap::new(), 1);
    let mut open: Option<(usize, TransactionDefinition)> = None;
    let mut definition = Definition { name: "sql".to_owned(), ..Definition::default() };
    for part in split(text) {
        let (comments, lines): (Vec<Line<'_>>, Vec<Line<'_>>) =
            (next..).zip(part.lines()).partition(|(_, text)| text.trim().starts_with("--"));
        let first = lines.iter().find(|(_, text)| !text.trim().is_empty()).or(comments.first());
        let line = first.map_or(next, |(line, _)| *line);
        next += part.matches('\n').count();
        let sql = lines.iter().map(|(_, text)| *text).collect::<Vec<_>>().join("\n").trim().to_owned();
        let (parsed, does) = (parse(&sql), control(&sql));
        let (mut statement, parameters) = said(&comments, &mut definition.name)?;
        let has_none = parsed.verb.is_empty() || does == Some("COMMIT");
        if has_none && (statement.weight.is_some() || !parameters.is_empty()) {
            bail!("line {line}: no statement comes after these comments; put them before one");
        }
        if open.is_some() && statement.weight.is_some() {
            bail!("line {line}: a statement of a transaction has no weight of its own; put it before BEGIN");
        }
        if statement.name.is_empty() {
            let named_after = if does == Some("BEGIN") { "transaction" } else { sql.as_str() };
            statement.name = statement_name(named_after, &mut names);
        }
        match (does, open.is_some()) {
            _ if parsed.verb.is_empty() => {}
            (None, _) => {
                if parsed.placeholders.contains(&None) {
                    bail!("line {line}: it has `?`, which has no name; write `:name`");
                }
                if let Some((_, transaction)) = &mut open {
                    transaction.statements.push(statement.name.clone());
                }
                (statement.sql, statement.parameters) = (sql, ParameterDefinitions::Named(parameters));
                definition.statements.push(statement);
            }
            (Some("BEGIN"), false) => {
                let (name, weight, statements) = (statement.name, statement.weight.unwrap_or(1.0), vec![]);
                open = Some((line, TransactionDefinition { name, weight, statements, parameters }));
            }
            (Some("BEGIN"), true) => break,
            (Some("COMMIT"), true) => definition.transactions.extend(open.take().map(|(_, whole)| whole)),
            (Some("COMMIT"), false) => {
                bail!("line {line}: COMMIT without BEGIN; write BEGIN before the first statement")
            }
            (Some(_), _) => bail!("line {line}: `{sql}` cannot be used here; write BEGIN and COMMIT"),
        }
    }
    match open {
        Some((line, _)) => bail!("line {line}: BEGIN without COMMIT; write COMMIT after the last statement"),
        None => Ok(definition),
    }
}

type Said = (StatementDefinition, BTreeMap<String, Generator>);

/// What the comments before a statement say of it; the name of the workload may be among them.
fn said(comments: &[Line<'_>], workload: &mut String) -> Result<Said> {
    let (mut statement, mut parameters) = (StatementDefinition::default(), BTreeMap::new());
    for (line, comment) in comments {
        let comment = comment.trim().trim_start_matches('-').trim();
        if let Some(declared) = comment.strip_prefix(':') {
            let (name, from) = declared.split_once('=').ok_or_else(|| {
                anyhow!("line {line}: `-- :{declared}` has no `=`; write `-- :name = 1..1000`, or `-- :name = column orders.id`")
            })?;
            let (name, from) = (name.trim(), from.trim());
            parameters.insert(name.to_owned(), source(&format!("line {line}, parameter `{name}`"), from)?);
        } else if let Some((key, value)) = comment.split_once(':') {
            let value = value.trim();
            let wrong = || anyhow!("line {line}: `-- weight: {value}` is not a number, as in `-- weight: 3`");
            match key.trim() {
                "weight" => statement.weight = Some(value.parse().ok().ok_or_else(wrong)?),
                "name" => value.clone_into(&mut statement.name),
                "workload" => value.clone_into(workload),
                _ => {}
            }
        }
    }
    Ok((statement, parameters))
}

/// `column orders.id`, `next orders.id`, `1..1000`, or a generator as in TOML.
fn source(entry: &str, text: &str) -> Result<Generator> {
    let parted = |name: &str| {
        name.trim().rsplit_once('.').map(|(table, column)| (table.to_owned(), column.to_owned()))
    };
    if let Some((table, column)) = text.strip_prefix("column ").and_then(parted) {
        return Ok(Generator::Column { table, column, limit: COLUMN_LIMIT });
    }
    if let Some((table, column)) = text.strip_prefix("next ").and_then(parted) {
        return Ok(Generator::Next { table, column });
    }
    if let Some((min, max)) = text.split_once("..")
        && let (Ok(min), Ok(max)) = (min.trim().parse(), max.trim().parse())
    {
        return Ok(Generator::Uniform { min, max });
    }
    let table: Option<toml::Table> = format!("p = {text}").parse().ok().filter(|_| text.starts_with('{'));
    match table.and_then(|mut table| table.remove("p")) {
        Some(value) => generator::read(entry, value),
        None => bail!(
            "{entry}: {text:?} is not a source of values; write `column orders.id`, `next orders.id`, `1..1000`, \
             or a generator such as {{ choice = {{ values = [\"a\", \"b\"] }} }}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_lab::workload::Workload;
    use evenkeel_lab::workload::user::{NoColumns, UserWorkload};

    const SHOP: &str = "\
-- workload: shop
-- The list of a customer's orders; what is no declaration is a comment: really.
-- weight: 3
SELECT id, total FROM orders -- inside
WHERE customer = :customer AND status <> ';' LIMIT 10;

-- name: buy
-- weight: 2
-- :id = next orders.id
-- :customer = column customer.id
BEGIN;
-- :total = 1..500
-- :status = { choice = { values = [\"open\", \"paid\"] } }
INSERT INTO orders (id, customer, status, total) VALUES (:id, :customer, :status, :total);
UPDATE customer SET newest = :id WHERE id = :customer;
COMMIT;
";

    #[test]
    fn a_script_is_a_workload_and_what_stands_between_begin_and_commit_a_transaction() {
        let found = definition(SHOP).unwrap();
        assert_eq!(found.name, "shop");
        let [list, insert, _] = &found.statements[..] else { panic!("{found:?}") };
        assert_eq!((list.name.as_str(), list.weight), ("select_orders", Some(3.0)));
        assert!(list.sql.starts_with("SELECT id") && list.sql.ends_with("LIMIT 10"), "{}", list.sql);
        let ParameterDefinitions::Named(from) = &insert.parameters else { panic!("{insert:?}") };
        assert_eq!((from.len(), &from["total"]), (2, &Generator::Uniform { min: 1, max: 500 }));
        let [buy] = &found.transactions[..] else { panic!("{found:?}") };
        assert_eq!((buy.name.as_str(), buy.weight, buy.parameters.len()), ("buy", 2.0, 2));
        assert_eq!(buy.statements, ["insert_orders", "update_customer"]);
        assert_eq!(buy.parameters["id"], Generator::Next { table: "orders".into(), column: "id".into() });
        let workload = UserWorkload::new(&found, &mut NoColumns).unwrap();
        assert_eq!(workload.kinds(), ["select_orders", "buy"]);
    }

    #[test]
    fn a_script_is_known_by_its_name_or_its_text() {
        for (file, text, expected) in [
            ("x.sql", "name = 5", true),
            ("workload.toml", SHOP, true),
            ("workload.toml", "# c\nSELECT a\nFROM t", true),
            ("workload.toml", "hello", false),
            ("workload.toml", "SELECT a = 1;", true),
            ("w.toml", "# c\nname = \"w\"", false),
            ("w.toml", "[[statement]]", false),
            ("w.toml", "nmae = ", false),
        ] {
            assert_eq!(is_script(file, text), expected, "{file} {text}");
        }
    }

    #[test]
    fn mistakes_name_the_line_and_what_to_write() {
        for (text, words) in [
            ("-- weight: x\nSELECT 1;", "line 1: `-- weight: x` is not a number"),
            ("SELECT 1;\n-- :a 5\nSELECT :a;", "line 2: `-- :a 5` has no `=`"),
            ("-- :a = furlongs\nSELECT :a;", "parameter `a`: \"furlongs\" is not a source of values"),
            ("SELECT ?;", "line 1: it has `?`"),
            ("SELECT 1;\n-- weight: 3\n", "line 2: no statement comes after"),
            ("BEGIN;\nSELECT 1;\nstart transaction;", "line 1: BEGIN without COMMIT"),
            ("SELECT 1;\n\nCOMMIT", "line 3: COMMIT without BEGIN"),
            ("BEGIN;\nROLLBACK;", "line 2: `ROLLBACK` cannot be used here"),
            ("SET autocommit = 0;", "line 1: `SET autocommit = 0` cannot"),
            ("BEGIN;\n-- weight: 3\nSELECT 1;\nCOMMIT;", "line 3: a statement of a transaction"),
        ] {
            let error = definition(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
