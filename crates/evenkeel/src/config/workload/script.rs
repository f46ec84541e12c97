//! Workloads as SQL: statements ended by `;`, with what is said of each in comments before it.

use crate::config::generator;
use anyhow::{Result, anyhow, bail};
use evenkeel_lab::workload::capture::statement_name;
use evenkeel_lab::workload::sql::{parse, split};
use evenkeel_lab::workload::user::{
    COLUMN_LIMIT, Definition, Generator, ParameterDefinitions, StatementDefinition,
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

/// Reads a script.
///
/// # Errors
/// Names the statement and what is wrong with a comment of it.
pub fn definition(text: &str) -> Result<Definition> {
    let mut names = BTreeMap::new();
    let mut definition = Definition { name: "sql".to_owned(), ..Definition::default() };
    for (place, part) in split(text).into_iter().enumerate() {
        let entry = format!("statement {}", place + 1);
        let (mut statement, mut parameters) = (StatementDefinition::default(), BTreeMap::new());
        let (comments, lines): (Vec<&str>, Vec<&str>) =
            part.lines().partition(|line| line.trim().starts_with("--"));
        for comment in &comments {
            let comment = comment.trim().trim_start_matches('-').trim();
            if let Some(declared) = comment.strip_prefix(':') {
                let (name, from) = declared.split_once('=').ok_or_else(|| {
                    anyhow!("{entry}: `-- :{declared}` has no `=`; write `-- :name = 1..1000`, or `-- :name = column orders.id`")
                })?;
                let name = name.trim().to_owned();
                parameters
                    .insert(name.clone(), source(&format!("{entry}, parameter `{name}`"), from.trim())?);
            } else if let Some((key, value)) = comment.split_once(':') {
                let value = value.trim();
                match key.trim() {
                    "weight" => {
                        statement.weight = Some(value.parse().map_err(|_| {
                            anyhow!("{entry}: `-- weight: {value}` is not a number; write `-- weight: 3`")
                        })?)
                    }
                    "name" => value.clone_into(&mut statement.name),
                    "workload" => value.clone_into(&mut definition.name),
                    _ => {}
                }
            }
        }
        lines.join("\n").trim().clone_into(&mut statement.sql);
        if parse(&statement.sql).verb.is_empty() {
            if statement.weight.is_some() || !parameters.is_empty() {
                bail!("{entry}: its comments have no statement after them; put them before one");
            }
            continue;
        }
        if statement.name.is_empty() {
            statement.name = statement_name(&statement.sql, &mut names);
        }
        if parse(&statement.sql).placeholders.contains(&None) {
            bail!("{entry}: it has `?`, which has no name; write `:name`");
        }
        statement.parameters = ParameterDefinitions::Named(parameters);
        definition.statements.push(statement);
    }
    Ok(definition)
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

    const SHOP: &str = "\
-- workload: shop
-- The list of a customer's orders; what is no declaration is a comment: really.
-- weight: 3
SELECT id, total FROM orders -- inside
WHERE customer = :customer AND status <> ';' LIMIT 10;

-- name: buy
-- :id = next orders.id
-- :total = 1..500
-- :status = { choice = { values = [\"open\", \"paid\"] } }
-- :customer = column customer.id
INSERT INTO orders (id, customer, status, total) VALUES (:id, :customer, :status, :total);
";

    #[test]
    fn a_script_is_a_workload() {
        let found = definition(SHOP).unwrap();
        assert_eq!((found.name.as_str(), found.statements.len()), ("shop", 2));
        let [list, buy] = &found.statements[..] else { panic!("{found:?}") };
        assert_eq!((list.name.as_str(), list.weight), ("select_orders", Some(3.0)));
        assert!(list.sql.starts_with("SELECT id") && list.sql.ends_with("LIMIT 10"), "{}", list.sql);
        let ParameterDefinitions::Named(from) = &buy.parameters else { panic!("{buy:?}") };
        assert_eq!((buy.name.as_str(), from.len()), ("buy", 4));
        assert_eq!(from["total"], Generator::Uniform { min: 1, max: 500 });
        assert_eq!(from["id"], Generator::Next { table: "orders".into(), column: "id".into() });
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
    fn mistakes_name_the_statement_and_what_to_write() {
        for (text, words) in [
            ("-- weight: x\nSELECT 1;", "statement 1: `-- weight: x` is not a number"),
            ("SELECT 1;\n-- :a 5\nSELECT :a;", "statement 2: `-- :a 5` has no `=`"),
            ("-- :a = furlongs\nSELECT :a;", "parameter `a`: \"furlongs\" is not a source of values"),
            ("SELECT ?;", "statement 1: it has `?`"),
            ("SELECT 1;\n-- weight: 3\n", "have no statement after them"),
        ] {
            let error = definition(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
