//! A workload as a file: what `workload from` found.

use crate::format::counted;
use evenkeel_lab::workload::Value;
use evenkeel_lab::workload::capture::{Captured, Share};
use evenkeel_lab::workload::sql::may_write;
use evenkeel_lab::workload::user::{Generator, ParameterDefinitions};
use std::fmt::Write as _;

/// Most statements that cannot be used and are named each.
const NAMED_MAX: usize = 20;

const DIFFERING: &str = "differ in more, such as the length of a list; their values are left out";

/// The text of a workload file; `source` says where it comes from.
pub fn to_toml(captured: &Captured, source: &str) -> String {
    let mut out = format!("# A workload made by `evenkeel workload from`, of {}.\n", one_line(source));
    let (count, share) = captured.others;
    if count > 0 {
        let _ = writeln!(
            out,
            "# {} omitted: {}; raise --top to include them.",
            counted(count, "further statement"),
            of(share)
        );
    }
    for left in captured.left_out.iter().take(NAMED_MAX) {
        let sql: String = one_line(&left.sql).chars().take(100).collect();
        let _ = writeln!(out, "# Left out, {}: {sql}\n#   because {}", of(left.share), one_line(&left.why));
    }
    if let Some(more) = captured.left_out.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
        let _ = writeln!(out, "# Left out: {more} more of this kind.");
    }
    let _ = writeln!(out, "name = {}", quoted(&captured.definition.name));
    for (statement, (share, mean_s, others)) in captured.definition.statements.iter().zip(&captured.shares) {
        let is_update =
            statement.sql.trim_start().get(..6).is_some_and(|verb| verb.eq_ignore_ascii_case("update"));
        let writes = match may_write(&statement.sql) {
            true if is_update => "; it writes, and costs less where a row has the new values already",
            true => "; it writes",
            false => "",
        };
        let _ = writeln!(out, "\n# {}, {:.3} ms each{writes}", of(*share), 1e3 * mean_s);
        if *others > 0.0 {
            let _ = writeln!(out, "# {others:.1} % of these executions {DIFFERING}");
        }
        out.push_str("[[statement]]\n");
        let _ = writeln!(out, "name = {}\nsql = {}", quoted(&statement.name), quoted(&statement.sql));
        let _ = writeln!(out, "weight = {}", statement.weight.unwrap_or(1.0));
        out.push_str(&parameters(&statement.parameters));
    }
    out
}

fn of(share: Share) -> String {
    format!("{:.1} % of executions, {:.1} % of the time", share.executions, share.time)
}

fn parameters(parameters: &ParameterDefinitions) -> String {
    let list = |row: &Vec<Value>| format!("[{}]", row.iter().map(scalar).collect::<Vec<_>>().join(", "));
    let lines = |all: Vec<String>| all.iter().map(|line| format!("  {line},\n")).collect::<String>();
    match parameters {
        ParameterDefinitions::Positional(all) if all.is_empty() => String::new(),
        ParameterDefinitions::Positional(all) => {
            format!("parameters = [\n{}]\n", lines(all.iter().map(generator).collect()))
        }
        ParameterDefinitions::Rows(rows) => {
            format!("rows = [\n{}]\n", lines(rows.iter().map(list).collect()))
        }
        ParameterDefinitions::Named(_) => unreachable!("a capture has no names for parameters"),
    }
}

fn generator(generator: &Generator) -> String {
    let of = |table, column| format!("table = {}, column = {}", quoted(table), quoted(column));
    match generator {
        Generator::Column { table, column, limit } => {
            format!("{{ column = {{ {}, limit = {limit} }} }}", of(table, column))
        }
        Generator::Next { table, column } => format!("{{ next = {{ {} }} }}", of(table, column)),
        Generator::Text { min, max } => format!("{{ string = {{ min = {min}, max = {max} }} }}"),
        Generator::Constant(value) => format!("{{ constant = {} }}", scalar(value)),
        other => unreachable!("a capture makes no {other:?}"),
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::Double(number) => format!("{number:?}"),
        Value::Text(text) => quoted(&String::from_utf8_lossy(text)),
        // No literal is NULL: it stays in the text of its statement.
        Value::Null => quoted(""),
    }
}

/// A text of JSON is one of TOML too, but for one sign.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::workload::parse as read;
    use evenkeel_lab::workload::capture::{Group, captured};

    #[test]
    fn what_is_written_is_read_back() {
        let text = |text: &str| Value::Text(text.into());
        let generators = vec![
            Generator::Column { table: "t".into(), column: "c".into(), limit: 5 },
            Generator::Next { table: "t".into(), column: "c".into() },
            Generator::Text { min: 1, max: 9 },
            Generator::Constant(Value::Double(1e-7)),
            Generator::Constant(text("a\"\\\n\x07\x7fü")),
        ];
        let rows = vec![vec![Value::Int(1), text("x")], vec![Value::Int(2), text("y\r")]];
        let group = |sql: &str, executions, parameters| {
            let time_s = executions as f64;
            let differing = executions / 4;
            Group { sql: sql.to_owned(), executions, differing, time_s, parameters, problem: None }
        };
        let groups = vec![
            group("SELECT a\tFROM t WHERE ? < ?", 4, ParameterDefinitions::Rows(rows)),
            group("UPDATE t SET a = ?", 3, ParameterDefinitions::Positional(generators)),
            group("UPDATE t SET b = @b", 2, ParameterDefinitions::default()),
            group("SELECT b FROM t", 1, ParameterDefinitions::default()),
        ];
        let captured = captured("shop", groups, 2);
        let written = to_toml(&captured, "x.log\nname = 5");
        assert_eq!(read("w.toml", &written).unwrap(), captured.definition, "{written}");
        for words in [
            "# 1 further statement omitted: 10.0 %",
            "20.0 % of the time: UPDATE t SET b = @b\n#   because it uses a variable: put it behind",
            "1000.000 ms each\n# 25.0 % of these executions differ in more, such as",
            "1000.000 ms each; it writes, and costs less where",
        ] {
            assert!(written.contains(words), "{written}");
        }
    }
}
