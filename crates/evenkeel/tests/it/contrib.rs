//! The dashboards and alert rules that are shipped, held against the metrics that the sources write.

use crate::left_out::left_out;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const DASHBOARDS: [&str; 2] = ["contrib/grafana/evenkeel-guard.json", "contrib/grafana/evenkeel-share.json"];
const RULES: &str = "contrib/prometheus/evenkeel.rules.yml";
const RULES_TEST: &str = "contrib/prometheus/evenkeel.rules_test.yml";
/// The sources that write metrics.
const WRITERS: [&str; 2] = ["crates/evenkeel/src/guard/metrics.rs", "crates/evenkeel/src/share/metrics.rs"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What comes before the tests of a source, and its tests.
fn halves(source: &str) -> (&str, &str) {
    source.split_once("#[cfg(test)]").unwrap_or((source, ""))
}

fn is_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Name and kind of the metric that the parenthesis at `at` describes: `gauge("name", ..`, `counter("name", ..`,
/// `head("name", "kind", ..`, or a row of a table, `("name", "kind", ..`, where gauges may stand without their kind.
fn description(code: &str, at: usize) -> Option<(&str, &str)> {
    let (name, rest) = code[at + 1..].trim_start().strip_prefix('"')?.split_once("\",")?;
    let second = rest.trim_start().strip_prefix('"').and_then(|rest| rest.split('"').next());
    let kind = match code[..at].rsplit(|c: char| !is_in_name(c)).next()? {
        kind @ ("gauge" | "counter") => kind,
        "head" => second?,
        "" => second.map(|word| if word == "counter" { word } else { "gauge" })?,
        _ => return None,
    };
    name.chars().all(is_in_name).then_some((name, kind))
}

/// All metrics that a source writes, and of each whether it only grows.
fn described(source: &str) -> BTreeMap<String, bool> {
    let (code, _) = halves(source);
    let (_, rest) = code.split_once("Text::new(\"").expect("names begin alike");
    let prefix = rest.split('"').next().expect("the text is never empty");
    let mut found = BTreeMap::new();
    for (name, kind) in code.match_indices('(').filter_map(|(at, _)| description(code, at)) {
        let ends: &[&str] = if kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
        found.extend(ends.iter().map(|end| (format!("{prefix}{name}{end}"), kind != "gauge")));
    }
    found
}

fn all_described() -> BTreeMap<String, bool> {
    WRITERS.iter().flat_map(|path| described(&read(path))).collect()
}

/// The metrics that a text names, each with what stands before it.
fn named(text: &str) -> Vec<(&str, &str)> {
    let starts = ["evenkeel_guard_", "evenkeel_share_"];
    let found = starts.iter().flat_map(|start| text.match_indices(start));
    found
        .map(|(at, _)| {
            let end = text[at..].find(|c: char| !is_in_name(c)).map_or(text.len(), |length| at + length);
            (&text[..at], &text[at..end])
        })
        .collect()
}

fn dashboards() -> Vec<(&'static str, Value)> {
    let parsed = |path: &str| {
        serde_json::from_str::<Value>(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    DASHBOARDS.map(|path| (path, parsed(path))).into()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// The panels of a dashboard that show something; headings of rows do not.
fn shown(dashboard: &Value) -> impl Iterator<Item = &Value> {
    list(dashboard, "panels").iter().filter(|panel| panel["type"] != "row")
}

/// Everything that is asked of Prometheus, by dashboards and by rules.
fn questions() -> Vec<String> {
    let rules = read(RULES);
    let asked = rules.lines().filter_map(|line| line.trim_start().strip_prefix("expr: "));
    let mut all: Vec<String> = asked.map(str::to_owned).collect();
    for (_, dashboard) in dashboards() {
        let targets = shown(&dashboard).flat_map(|panel| list(panel, "targets"));
        all.extend(targets.map(|target| word(target, "expr").to_owned()));
    }
    all
}

#[test]
fn every_metric_that_a_dashboard_or_a_rule_names_is_one_that_is_written() {
    let written = all_described();
    for path in [DASHBOARDS[0], DASHBOARDS[1], RULES, RULES_TEST] {
        let text = read(path);
        let names = named(&text);
        assert!(names.len() > 20, "{path} names only {}", names.len());
        for (_, name) in names {
            assert!(written.contains_key(name), "{path}: nobody writes {name}");
        }
    }
}

#[test]
fn what_only_grows_is_asked_for_by_its_rate_and_nothing_else_is() {
    let written = all_described();
    for question in questions() {
        for (before, name) in named(&question) {
            let is_rate = before.ends_with("rate(") || before.ends_with("increase(");
            assert_eq!(written.get(name), Some(&is_rate), "{name} in {question}");
        }
    }
}

/// What promtool does with a file of `folder`; `None` where it is not installed.
fn promtool(folder: &Path, verb: &str, file: &str) -> Option<Output> {
    match Command::new("promtool").args([verb, "rules", file]).current_dir(folder).output() {
        Ok(output) => Some(output),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => panic!("promtool: {error}"),
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn promtool_finds_nothing_wrong_with_the_rules_and_their_own_tests_pass() {
    let folder = root().join("contrib/prometheus");
    let Some(checked) = promtool(&folder, "check", "evenkeel.rules.yml") else {
        return left_out("promtool is not installed");
    };
    assert!(checked.status.success(), "{}", said(&checked));
    let tried = promtool(&folder, "test", "evenkeel.rules_test.yml").expect("it was started before");
    assert!(tried.status.success(), "{}", said(&tried));
    // The control: rules that are down when all is up do not pass the same tests.
    let broken = tempfile::tempdir().expect("a folder");
    let rules = read(RULES).replace("up{job=\"evenkeel-guard\"} == 0", "up{job=\"evenkeel-guard\"} == 1");
    fs::write(broken.path().join("evenkeel.rules.yml"), rules).expect("a file");
    fs::write(broken.path().join("evenkeel.rules_test.yml"), read(RULES_TEST)).expect("a file");
    let tried = promtool(broken.path(), "test", "evenkeel.rules_test.yml").expect("it was started before");
    assert!(!tried.status.success(), "{}", said(&tried));
}
