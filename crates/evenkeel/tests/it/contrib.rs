//! The dashboards and alert rules that are shipped, held against the metrics that the sources write.

use crate::cli::text;
use crate::house::root;
use crate::left_out::left_out;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Output};

const RULES: &str = "contrib/prometheus/evenkeel.rules.yml";
const RULES_TEST: &str = "contrib/prometheus/evenkeel.rules_test.yml";
const SHIPPED: [&str; 4] =
    ["contrib/grafana/evenkeel-guard.json", "contrib/grafana/evenkeel-share.json", RULES, RULES_TEST];
/// How the names of metrics begin, and the sources that write them.
const WRITERS: [(&str, &str); 2] = [
    ("evenkeel_guard_", "crates/evenkeel/src/guard/metrics.rs"),
    ("evenkeel_share_", "crates/evenkeel/src/share/metrics.rs"),
];

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The metrics that a text names, without their common beginning, each with what stands before it.
fn named<'a>(text: &'a str, start: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    text.match_indices(start).map(move |(at, _)| {
        let rest = &text[at + start.len()..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        (&text[..at], &rest[..end])
    })
}

/// A histogram is written as three metrics that only grow.
const OF_HISTOGRAMS: [&str; 3] = ["_bucket", "_sum", "_count"];

#[test]
fn every_metric_that_a_dashboard_or_a_rule_names_is_one_that_is_written() {
    for path in SHIPPED {
        let (text, mut seen) = (read(path), 0);
        for (start, writer) in WRITERS {
            let source = read(writer);
            for (_, name) in named(&text, start) {
                let histogram = OF_HISTOGRAMS.iter().find_map(|end| name.strip_suffix(end));
                let is_written = source.contains(&format!("\"{}\"", histogram.unwrap_or(name)));
                assert!(is_written, "{path}: nobody writes {start}{name}");
                seen += 1;
            }
        }
        assert!(seen > 20, "{path} names only {seen}");
    }
}

#[test]
fn what_only_grows_is_asked_for_by_its_rate_and_nothing_else_is() {
    let mut seen = 0;
    for path in [SHIPPED[0], SHIPPED[1], RULES] {
        let text = read(path);
        let questions = text.lines().map(str::trim_start);
        for question in questions.filter(|line| line.starts_with("\"expr\": ") || line.starts_with("expr: "))
        {
            for (before, name) in WRITERS.iter().flat_map(|(start, _)| named(question, start)) {
                let is_rate = before.ends_with("rate(") || before.ends_with("increase(");
                let grows = name.ends_with("_total") || OF_HISTOGRAMS.iter().any(|end| name.ends_with(end));
                assert_eq!(grows, is_rate, "{name} in {question}");
                seen += 1;
            }
        }
    }
    assert!(seen > 60, "only {seen} metrics are asked for");
}

/// What promtool does with a file of `folder`; `None` where it is not installed.
fn promtool(folder: &Path, verb: &str, file: &str) -> Option<Output> {
    match Command::new("promtool").args([verb, "rules", file]).current_dir(folder).output() {
        Ok(output) => Some(output),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => panic!("promtool: {error}"),
    }
}

#[test]
fn promtool_finds_nothing_wrong_with_the_rules_and_their_own_tests_pass() {
    let folder = root().join("contrib/prometheus");
    let Some(checked) = promtool(&folder, "check", "evenkeel.rules.yml") else {
        return left_out("promtool is not installed");
    };
    assert!(checked.status.success(), "{:?}", text(&checked));
    let tried = promtool(&folder, "test", "evenkeel.rules_test.yml").expect("it was started before");
    assert!(tried.status.success(), "{:?}", text(&tried));
}
