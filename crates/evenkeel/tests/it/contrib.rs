//! What is shipped beside the binary: dashboards and alert rules, held against the metrics that the sources write, units of systemd, as
//! far as they can be tried without one that runs, benchmarks, and commands of the guides.

use crate::cli::{evenkeel, text};
use crate::house::root;
use crate::left_out::left_out;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

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

#[test]
fn benches_tell_planted_results_that_are_good_from_those_that_are_bad() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/benches");
    if Command::new("python3").arg("--version").output().is_err() {
        return left_out("python3 is not installed, in which benches are written");
    }
    let output = Command::new("python3").arg("-B").arg(&tests).output().expect("python3 can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", output.status);
    assert!(said.contains("\nOK") && !said.contains("Ran 0 tests"), "{said}");
}

/// The first block of commands of a page.
fn first_block(page: &str) -> String {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide").join(page));
    let text = text.expect("the page");
    text.split("```").nth(1).expect("a block of commands").to_owned()
}

#[test]
fn the_five_minutes_of_shares_can_be_pasted() {
    let folder = tempfile::tempdir().expect("a folder");
    let block = first_block("share.md")
        .replace("--runtime=60", "--runtime=3")
        .replace("127.0.0.1:930$n", "127.0.0.1:0")
        .replace("evenkeel share top 127.0.0.1:9302", "sleep 1");
    // The shell that read it ends its disks, by number and no other.
    // A client may have ended before it is waited for, and then it is no job any more.
    let script = format!(
        "{block}\nwhile [ $(jobs -pr | wc -l) -gt 2 ]; do sleep 0.1; done\nkill -TERM %1 %2 && wait\n"
    );
    let program = Path::new(env!("CARGO_BIN_EXE_evenkeel"));
    let path = format!(
        "{}:{}",
        program.parent().expect("a folder").display(),
        std::env::var("PATH").expect("a path")
    );
    let mut shell = Command::new("bash");
    shell.args(["-m", "-c", &script]).env("PATH", path).current_dir(&folder).stdin(Stdio::null());
    let done = shell.output().expect("a shell");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    for client in ["fio1.txt", "fio2.txt"] {
        let told = fs::read_to_string(folder.path().join(client)).expect("what fio said");
        assert!(told.contains("err= 0") && told.contains("READ:"), "{client}: {told}\n{said}");
    }
    assert!(!folder.path().join("web1.sock").exists(), "a disk still serves: {said}");
}

/// Where a unit looks for the binary.
const INSTALLED: &str = "/usr/bin/evenkeel";

fn units() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib");
    let files =
        fs::read_dir(folder).expect("the units are shipped").map(|file| file.expect("an entry").path());
    let units = files.filter(|file| file.extension().is_some_and(|extension| extension == "service"));
    let units: Vec<_> = units.map(|unit| (unit.clone(), fs::read_to_string(unit).expect("text"))).collect();
    assert!(units.len() >= 2, "{units:?}");
    units
}

/// The commands that a unit runs the binary with, without its path.
fn commands(unit: &str) -> Vec<Vec<&str>> {
    let lines = unit
        .lines()
        .filter_map(|line| line.strip_prefix("Exec")?.split_once('='))
        .map(|(_, command)| command);
    let ours = lines.filter_map(|command| command.strip_prefix(INSTALLED));
    ours.map(|command| command.split_whitespace().collect()).collect()
}

#[test]
fn a_unit_that_checks_nothing_first_has_flags_that_there_are() {
    let home = tempfile::tempdir().expect("a temporary directory");
    for (path, unit) in units().into_iter().filter(|(_, unit)| !unit.contains("ExecStartPre=")) {
        let [words] = &commands(&unit)[..] else { panic!("{} has other commands", path.display()) };
        let output = evenkeel(home.path(), &[words.as_slice(), &["--help"]].concat());
        assert!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_unit_starts_what_it_has_checked_with_a_file_that_its_own_words_install() {
    let home = tempfile::tempdir().expect("a temporary directory");
    for (path, unit) in units().into_iter().filter(|(_, unit)| unit.contains("ExecStartPre=")) {
        let [checked, started] = &commands(&unit)[..] else {
            panic!("{} has other commands", path.display())
        };
        let without: Vec<&str> = checked.iter().copied().filter(|word| *word != "--check").collect();
        assert_eq!((&without, checked.len()), (started, started.len() + 1), "{}", path.display());
        let config = started.last().expect("a file");
        let name = Path::new(config).file_name().and_then(|name| name.to_str()).expect("a name");
        assert!(unit.contains(&format!("examples/{name} {config}")), "{}", path.display());
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
        // As its user edits it: the example leaves open where a disk appears.
        let edited = fs::read_to_string(example)
            .expect("an example")
            .replace("nbd = []", "nbd = \"/run/evenkeel/disks\"");
        let file = home.path().join(name);
        fs::write(&file, edited).expect("a file");
        let arguments =
            checked.iter().map(|word| if word == config { file.to_str().expect("text") } else { word });
        let output = evenkeel(home.path(), &arguments.collect::<Vec<_>>());
        assert!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
    }
}
