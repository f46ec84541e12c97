//! A study of a user's from its file to its findings, `evenkeel compare`, and `evenkeel doctor`, as a user runs them.

use crate::cli::{evenkeel, refused};
use crate::left_out::left_out;
use serde_json::Value;
use std::process::Command;

/// One factor, whose second level asks for much more.
const STUDY: &str = "name = 'wait'\nquestion = 'Does waiting matter?'\ncompare = 'response'\n[profile]\nworkload = 'tpcw.simple'\n\
    items = 100\nebs = 1\nrate = '40'\nwhole-sweep = true\nrepeats = 3\nretries = 0\nduration = '8s'\nwarm-up = '500ms'\nno-reset = true\n\
    [[factor]]\nname = 'pace'\n[[factor.level]]\nname = 'plain'\n[[factor.level]]\nname = 'slow'\n\
    workload = 'tpcw.complex'\n";

fn json(output: &[u8]) -> Value {
    serde_json::from_slice(output).expect("JSON")
}

#[test]
fn a_study_file_is_measured_level_against_level_and_its_findings_are_the_same_after_a_resume() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let file = home.path().join("wait.toml");
    std::fs::write(&file, STUDY).expect("a file");
    let path = file.to_str().expect("a path in UTF-8");
    let output = evenkeel(home.path(), &["-q", "study", "--json", path, "--name", "wait"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}: {said}", output.status);
    let found = json(&output.stdout);
    let finding = &found["findings"][0];
    assert_eq!((&finding["first"], &finding["second"]), (&"pace plain".into(), &"pace slow".into()));
    match finding["error"].as_str() {
        // Where the machine is too busy for a generator that keeps its instants, nothing is compared, and that is said.
        Some(error) => assert!(error.contains("40 requests/s: the generator failed"), "{error}"),
        None => {
            let runs = |side: &str| finding["conditions"][0][side].as_array().map_or(0, Vec::len);
            assert!((1..=3).contains(&runs("first")) && (1..=3).contains(&runs("second")), "{finding}");
            assert!(finding["ratio"].as_f64().is_some_and(|ratio| ratio > 0.0), "{finding}");
        }
    }

    // Finished, it goes on with nothing, and the same findings come of it.
    let again = evenkeel(home.path(), &["-q", "study", "--json", "--resume", "last"]);
    assert_eq!(json(&again.stdout), found, "{}", String::from_utf8_lossy(&again.stderr));

    // Its page says the same of the levels, in its title.
    let page = home.path().join("page.html");
    evenkeel(home.path(), &["report", "wait", "--to", page.to_str().expect("a path in UTF-8")]);
    let text = std::fs::read_to_string(&page).expect("a page");
    let title = text.split("<h1>").nth(1).and_then(|rest| rest.split("</h1>").next()).expect("a title");
    assert!(title.contains("pace slow") && title.contains("pace plain"), "{title}");

    let home = home.path();
    assert!(refused(home, &["compare", "last", "last"]).contains("name two studies"));
    assert!(
        refused(home, &["compare", "last", "last", "--margin", "0%"]).contains("above 0 and at most 100")
    );
    assert!(refused(home, &["compare", "last", "last", "--of", "speed"]).contains("response, p95 and cpu"));
}

#[test]
fn a_study_file_that_is_none_is_refused_before_anything_starts() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let file = home.path().join("study.toml");
    let refused = |text: &str| {
        std::fs::write(&file, text).expect("a file");
        refused(home.path(), &["study", file.to_str().expect("a path in UTF-8")])
    };
    assert!(refused("name = 'a'").contains("`factor` is missing"));
    let said = refused(&STUDY.replace("repeats = 3", "repeets = 3"));
    let place = "study.toml:10: [profile]: unknown key `repeets`, did you mean `repeats`?";
    assert!(said.contains(place) && said.contains("flags of `evenkeel profile`"), "{said}");
    let said = refused(&STUDY.replace("name = 'slow'\n", "name = 'slow'\nitems = 'many'\n"));
    assert!(
        said.contains("study.toml:21: factor \"pace\", level \"slow\": `items`: invalid value 'many'"),
        "{said}"
    );
    let said = refused(&STUDY.replace("compare = 'response'", "compar = 'tau'"));
    assert!(said.contains("study.toml:3: study: unknown key `compar`, did you mean `compare`?"), "{said}");
    let said = refused(&STUDY.replace("name = 'slow'\n", "name = 'slow'\nrepeats = 9\n"));
    assert!(said.contains("the same for all levels"), "{said}");
    assert!(!home.path().join("runs").exists(), "nothing was measured");
}

#[test]
fn whoever_asks_for_nothing_is_told_what_to_do_first() {
    let output = Command::new(env!("CARGO_BIN_EXE_evenkeel")).output().expect("the binary can be started");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && output.stderr.is_empty(), "{text}");
    for first in ["evenkeel profile", "evenkeel guard demo", "evenkeel share knee", "evenkeel doctor"] {
        assert!(text.contains(first), "{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
}

fn states(output: &[u8]) -> Vec<(String, String)> {
    let text = |value: &Value, key: &str| value[key].as_str().expect("a text").to_owned();
    json(output)
        .as_array()
        .expect("findings")
        .iter()
        .map(|found| (text(found, "name"), text(found, "state")))
        .collect()
}

fn state<'a>(states: &'a [(String, String)], name: &str) -> &'a str {
    &states.iter().find(|(known, _)| known == name).expect("a finding").1
}

#[test]
fn the_doctor_sees_what_is_taken_away() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let there = states(&evenkeel(home.path(), &["doctor", "--json"]).stdout);
    let program = env!("CARGO_BIN_EXE_evenkeel");
    let without = |hide: &str| {
        let script = format!("{hide} && exec {program} doctor --json");
        Command::new("unshare").args(["--mount", "sh", "-c", &script]).output()
    };
    let cases = [
        ("FUSE", "mount --bind /dev/null /dev/fuse"),
        ("control groups", "mount -t tmpfs none /sys/fs/cgroup"),
        ("disk limit", "mount -t tmpfs none /sys/fs/cgroup"),
        ("pressure", "mount -t tmpfs none /proc/pressure"),
        ("hardware counters", "mount --bind /dev/null /proc/sys/kernel/perf_event_paranoid"),
    ];
    for (name, hide) in cases {
        if state(&there, name) == "missing" {
            left_out(format!("in part: {name} is not here to be taken away"));
            continue;
        }
        match without(hide) {
            Ok(output) if output.status.success() => {
                assert_eq!(state(&states(&output.stdout), name), "missing", "{name}");
            }
            other => left_out(format!("in part: {name} cannot be hidden: {other:?}")),
        }
    }
    let text = String::from_utf8_lossy(&evenkeel(home.path(), &["doctor"]).stdout).into_owned();
    assert_eq!(text.lines().count(), there.len(), "{text}");
}

/// A study whose levels ask a workload of the user's on a server that does not answer.
const OWN_WORKLOAD: &str = "name = 'own'\n[profile]\nworkload = 'orders.toml'\nrate = '40'\nrepeats = 1\n\
    [[factor]]\nname = 'at'\n[[factor.level]]\nname = 'one'\nurl = 'mysql://u:PW1@127.0.0.1:1/d'\n\
    [[factor.level]]\nname = 'two'\nurl = 'mysql://u:PW1@127.0.0.1:1/e'\n";

#[test]
fn a_workload_is_looked_for_beside_the_study_file_and_no_error_has_a_password() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let file = home.path().join("own.toml");
    let refused = |text: &str| {
        std::fs::write(&file, text).expect("a file");
        let said = refused(home.path(), &["study", file.to_str().expect("a path in UTF-8")]);
        assert!(!said.contains("PW1"), "{said}");
        said
    };
    let said = refused(OWN_WORKLOAD);
    assert!(said.contains("cannot read workload ") && said.contains("folder of the study file"), "{said}");
    std::fs::write(
        home.path().join("orders.toml"),
        "name = 'orders'\n[[statement]]\nname = 's'\nsql = 'SELECT 1'\n",
    )
    .expect("a file");
    let said = refused(OWN_WORKLOAD);
    assert!(said.contains("127.0.0.1:1") && !said.contains("cannot read workload"), "{said}");
    for key in ["rate", "timeout", "until", "set"] {
        let said = refused(&OWN_WORKLOAD.replace("rate = '40'", &format!("{key} = true")));
        let place = format!("own.toml:4: [profile]: `{key}` needs a value");
        assert!(said.contains(&place), "{said}");
    }
    let said = refused(&OWN_WORKLOAD.replace("PW1@127.0.0.1:1/d'", "PW1@127.0.0.1:1/d"));
    assert!(said.contains("TOML parse error at line "), "{said}");
}

#[test]
fn a_pipe_that_is_named_as_a_study_is_refused_and_not_waited_for() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let pipe = home.path().join("p.toml");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there").success());
    let said = refused(home.path(), &["study", pipe.to_str().expect("a path in UTF-8")]);
    assert!(said.contains("a pipe or a device"), "{said}");
    let url = "mysql://u:PW1@127.0.0.1:1";
    let said = refused(home.path(), &["guard", "--listen", "127.0.0.1:0", "--backend", url]);
    assert!(said.contains("is not an address") && !said.contains("PW1"), "{said}");
    let said = refused(home.path(), &["runs", "--output", "/nonexistent"]);
    assert!(said.contains("there is no folder /nonexistent"), "{said}");
}
