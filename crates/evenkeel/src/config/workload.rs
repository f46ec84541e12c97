//! Workloads that users write: `examples/workloads/orders.toml` shows every key, `script` reads SQL.

mod script;
mod write;

pub use write::to_toml;

use super::fields::{self, Fields};
use super::lines::located;
use super::types::{At, FromToml};
use crate::failure::WithHint;
use anyhow::{Context, Result, anyhow, ensure};
use evenkeel_core::Nanos;
use evenkeel_lab::workload::sql::control;
use evenkeel_lab::workload::user::{
    ColumnReader, Definition, ParameterDefinitions, StatementDefinition, TransactionDefinition, UserWorkload,
};
use std::collections::BTreeMap;
use std::path::Path;
use toml::Value;

/// Reads and checks a workload; `reader` gives the values of `column` generators.
/// Errors: names the file, the entry and what to do.
pub fn load(path: &Path, reader: &mut dyn ColumnReader) -> Result<UserWorkload> {
    let file = path.display().to_string();
    let definition = parse(&file, &text(path)?)?;
    UserWorkload::new(&definition, reader).map_err(|error| anyhow!("{file}: {error}"))
}

/// The text of a workload file.
/// Errors: it cannot be read; with what to do.
pub fn text(path: &Path) -> Result<String> {
    let read = fields::file_text(path);
    read.with_context(|| format!("cannot read workload {}", path.display())).hint(MISSING)
}

const MISSING: &str = "name a file that is there and that you may read; `evenkeel explain --list` names the workloads that need none";

/// Reads the text of a workload file; `file` is its name in errors.
pub fn parse(file: &str, text: &str) -> Result<Definition> {
    if script::is_script(file, text) {
        return script::definition(text).map_err(|error| anyhow!("{file}: {error}"));
    }
    fields::parse("workload", text).map_err(|error| located(file, text, &error))
}

const CONTROL: &str = "it is transaction control, which no [[statement]] can be; remove it, and write\n\
     [[transaction]]\nname = \"buy\"\nstatements = [\"insert_order\", \"update_stock\"]";

table! { Definition { name, statements as "statement" = Vec::new(), transactions as "transaction" = Vec::new() } }
table! { TransactionDefinition { name, weight = 1.0, statements, parameters = BTreeMap::new() } }

impl FromToml for StatementDefinition {
    fn from_toml(value: Value, at: At<'_>) -> Result<Self> {
        let entry = at.key;
        let mut fields = Fields::of(entry, value)?;
        let (name, sql) = (fields.required("name")?, fields.required::<String>("sql")?);
        ensure!(control(&sql).is_none(), "{entry}: {CONTROL}");
        let (parameters, rows) = (fields.optional("parameters")?, fields.optional("rows")?);
        ensure!(
            parameters.is_none() || rows.is_none(),
            "{entry}: has `parameters` and `rows`; use one of them"
        );
        let statement = Self {
            name,
            sql,
            weight: fields.optional("weight")?,
            parameters: parameters.or(rows.map(ParameterDefinitions::Rows)).unwrap_or_default(),
            pause: fields.optional("pause")?.unwrap_or(Nanos::ZERO),
            tables: fields.optional("tables")?,
        };
        fields.finish().map(|()| statement)
    }
}

impl FromToml for ParameterDefinitions {
    const KIND: &'static str = "a list of generators, one for each `?`, or a table of them by name";
    fn from_toml(value: Value, at: At<'_>) -> Result<Self> {
        match value {
            Value::Array(_) => Vec::from_toml(value, At { key: "parameter", ..at }).map(Self::Positional),
            Value::Table(_) => BTreeMap::from_toml(value, at).map(Self::Named),
            other => Err(at.must_be(Self::KIND, &other)),
        }
    }
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
            (
                "nmae = \"w\"",
                "workload: `name` is missing (is `nmae` a misspelling of it?); set it to a text",
            ),
            ("name = \"w\"\n[[statement]]\nsql = \"x\"", "statement 1: `name` is missing"),
            (NAMED, "statement `s`: `sql` is missing"),
            (&format!("{NAMED}sql = \"Begin\""), "statement `s`: it is transaction control"),
            (
                &format!("{NAMED}sql = \"x\"\nwieght = 5"),
                ":5: statement `s`: unknown key `wieght`, did you mean `weight`?",
            ),
            (&format!("{NAMED}sql = \"x\"\npause = \"5 furlongs\""), ":5: statement `s`: `pause`: "),
            (
                &format!("{NAMED}sql = \"x\"\nparameters = [{{ unifrm = {{}} }}]"),
                "statement `s`, parameter 1: unknown generator `unifrm`, did you mean `uniform`?",
            ),
            (
                &format!("{NAMED}sql = \"x\"\n[[transaction]]\nname = \"t\"\nstatement = [\"s\"]"),
                "transaction `t`: `statements` is missing (is `statement` a misspelling of it?)",
            ),
        ] {
            let error = parse("my.toml", text).unwrap_err().to_string();
            assert!(error.starts_with("my.toml:") && error.contains(words), "{text}: {error}");
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
