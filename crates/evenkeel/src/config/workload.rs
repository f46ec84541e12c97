//! Workloads that users write: `examples/workloads/orders.toml` shows every key, `script` reads SQL.

mod script;
mod write;

pub use write::to_toml;

use super::fields::Fields;
use super::generator;
use super::masked;
use crate::failure::WithHint;
use anyhow::{Context, Result, anyhow, bail};
use evenkeel_core::Nanos;
use evenkeel_lab::workload::sql::control;
use evenkeel_lab::workload::user::{
    ColumnReader, Definition, Generator, ParameterDefinitions, StatementDefinition, TransactionDefinition,
    UserWorkload,
};
use std::collections::BTreeMap;
use std::path::Path;
use toml::{Table, Value};

/// Reads and checks a workload; `reader` gives the values of `column` generators.
///
/// # Errors
/// Names the file, the entry and what to do.
pub fn load(path: &Path, reader: &mut dyn ColumnReader) -> Result<UserWorkload> {
    let file = path.display().to_string();
    let definition = parse(&file, &text(path)?)?;
    UserWorkload::new(&definition, reader).map_err(|error| anyhow!("{file}: {error}"))
}

/// The text of a workload file.
///
/// # Errors
/// It cannot be read; with what to do.
pub fn text(path: &Path) -> Result<String> {
    let read = super::fields::file_text(path);
    read.with_context(|| format!("cannot read workload {}", path.display())).hint(MISSING)
}

const MISSING: &str = "name a file that is there and that you may read; `evenkeel explain --list` names the workloads that need none";

/// Reads the text of a workload file; `file` is its name in errors.
///
/// # Errors
/// As [`load`].
pub fn parse(file: &str, text: &str) -> Result<Definition> {
    if script::is_script(file, text) {
        return script::definition(text).map_err(|error| anyhow!("{file}: {error}"));
    }
    let table: Table = text.parse().map_err(|error| anyhow!("{file}: {}", masked::no_toml(&error)))?;
    definition(table).map_err(|error| anyhow!("{file}: {error}"))
}

fn definition(table: Table) -> Result<Definition> {
    let mut fields = Fields::new("workload", table);
    let name = fields.required("name")?;
    let statements: Vec<Value> = fields.optional("statement")?.unwrap_or_default();
    let transactions: Vec<Value> = fields.optional("transaction")?.unwrap_or_default();
    fields.finish()?;
    let statements = (1..).zip(statements).map(|(number, value)| statement(number, value));
    let statements = statements.collect::<Result<_>>()?;
    let transactions = (1..).zip(transactions).map(|(number, value)| transaction(number, value));
    Ok(Definition { name, statements, transactions: transactions.collect::<Result<_>>()? })
}

const CONTROL: &str = "it is transaction control, which no [[statement]] can be; remove it, and write\n\
     [[transaction]]\nname = \"buy\"\nstatements = [\"insert_order\", \"update_stock\"]";

fn statement(number: usize, value: Value) -> Result<StatementDefinition> {
    let mut fields = Fields::of(format!("statement {number}"), value)?;
    let name: String = fields.required("name")?;
    fields.rename(format!("statement `{name}`"));
    let sql: String = fields.required("sql")?;
    if control(&sql).is_some() {
        bail!("{}: {CONTROL}", fields.entry());
    }
    let weight = fields.optional("weight")?;
    let tables = fields.optional("tables")?;
    let pause = fields.time("pause")?.unwrap_or(Nanos::ZERO);
    let rows: Option<Vec<Value>> = fields.optional("rows")?;
    let parameters = match (fields.optional("parameters")?, rows) {
        (None, Some(rows)) => ParameterDefinitions::Rows(all_rows(fields.entry(), rows)?),
        (Some(_), Some(_)) => bail!("{}: has `parameters` and `rows`; use one of them", fields.entry()),
        (None, None) => ParameterDefinitions::default(),
        (Some(Value::Array(values)), None) => positional(fields.entry(), values)?,
        (Some(Value::Table(table)), None) => ParameterDefinitions::Named(named(fields.entry(), table)?),
        (Some(_), None) => bail!(
            "{}: `parameters` must be a list of generators, one for each `?`, or a table of them by name",
            fields.entry()
        ),
    };
    fields.finish()?;
    Ok(StatementDefinition { name, sql, weight, parameters, pause, tables })
}

fn all_rows(entry: &str, rows: Vec<Value>) -> Result<Vec<Vec<evenkeel_lab::workload::Value>>> {
    let row = |row| match row {
        Value::Array(values) => values.into_iter().map(|value| generator::scalar(entry, value)).collect(),
        _ => bail!("{entry}: `rows` must be a list of lists, each with one value for each `?`"),
    };
    rows.into_iter().map(row).collect()
}

fn transaction(number: usize, value: Value) -> Result<TransactionDefinition> {
    let mut fields = Fields::of(format!("transaction {number}"), value)?;
    let name: String = fields.required("name")?;
    fields.rename(format!("transaction `{name}`"));
    let statements = fields.required("statements")?;
    let weight = fields.optional("weight")?.unwrap_or(1.0);
    let parameters = match fields.optional("parameters")? {
        None => BTreeMap::new(),
        Some(Value::Table(table)) => named(fields.entry(), table)?,
        Some(_) => bail!("{}: `parameters` must be a table of generators by name", fields.entry()),
    };
    fields.finish()?;
    Ok(TransactionDefinition { name, weight, statements, parameters })
}

fn positional(entry: &str, values: Vec<Value>) -> Result<ParameterDefinitions> {
    let read = |(number, value)| generator::read(&format!("{entry}, parameter {number}"), value);
    let generators = (1..).zip(values).map(read).collect::<Result<_>>()?;
    Ok(ParameterDefinitions::Positional(generators))
}

fn named(entry: &str, table: Table) -> Result<BTreeMap<String, Generator>> {
    let read = |(name, value)| {
        let generator = generator::read(&format!("{entry}, parameter `{name}`"), value)?;
        Ok((name, generator))
    };
    table.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_lab::workload::Workload;
    use evenkeel_lab::workload::user::NoColumns;

    #[test]
    fn the_example_is_read_and_checked() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workloads/orders.toml");
        let workload = load(&path, &mut NoColumns).unwrap();
        assert_eq!(workload.name(), "orders");
        assert_eq!(workload.kinds(), ["customer_by_name", "items_of_subject", "orders_of_customer", "order"]);
    }

    #[test]
    fn mistakes_name_the_file_the_entry_and_what_to_do() {
        const NAMED: &str = "name = \"w\"\n[[statement]]\nname = \"s\"\n";
        for (text, words) in [
            ("name = ", "my.toml: TOML parse error at line 1"),
            ("nmae = \"w\"", "workload: `name` is missing (is `nmae` meant to be it?); set it to a text"),
            ("name = \"w\"\n[[statement]]\nsql = \"x\"", "statement 1: `name` is missing"),
            (NAMED, "statement `s`: `sql` is missing"),
            (&format!("{NAMED}sql = \"Begin\""), "statement `s`: it is transaction control"),
            (&format!("{NAMED}sql = \"x\"\nwieght = 5"), "unknown key `wieght`, did you mean `weight`?"),
            (&format!("{NAMED}sql = \"x\"\npause = \"5 furlongs\""), "statement `s`: `pause`: "),
            (
                &format!("{NAMED}sql = \"x\"\nparameters = [{{ unifrm = {{}} }}]"),
                "statement `s`, parameter 1: unknown generator `unifrm`, did you mean `uniform`?",
            ),
            (
                &format!("{NAMED}sql = \"x\"\n[[transaction]]\nname = \"t\"\nstatement = [\"s\"]"),
                "transaction `t`: `statements` is missing (is `statement` meant to be it?)",
            ),
        ] {
            let error = parse("my.toml", text).unwrap_err().to_string();
            assert!(error.starts_with("my.toml: ") && error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn a_contradiction_names_the_file_too() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w.toml");
        std::fs::write(&path, "name = \"w\"\n[[statement]]\nname = \"s\"\nsql = \"SELECT ?\"").unwrap();
        let error = load(&path, &mut NoColumns).unwrap_err().to_string();
        assert!(error.contains("w.toml: statement `s`: `sql` has 1 `?` but `parameters` has 0"), "{error}");
        let missing = load(&dir.path().join("none.toml"), &mut NoColumns).unwrap_err();
        let told = format!("{missing:#}");
        assert!(told.starts_with(MISSING) && told.contains("cannot read workload "), "{told}");
    }
}
