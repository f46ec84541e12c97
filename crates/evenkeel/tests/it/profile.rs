//! What a profile does to a server, by what the server counts itself: every request leaves a row.

use crate::cli::evenkeel;
use crate::guard::server::Server;
use serde_json::Value;
use std::fs;
use std::path::Path;

const WORKLOAD: &str =
    "name = \"ask\"\n[[statement]]\nname = \"one\"\nsql = \"INSERT INTO asked (id) VALUES (NULL)\"\n";

/// What became of the arrivals of all runs of the only study, also of those that were set aside.
fn counts(home: &Path) -> Vec<Value> {
    let studies = fs::read_dir(home.join("runs")).expect("studies").flatten();
    let runs = studies.flat_map(|study| fs::read_dir(study.path().join("runs")).expect("runs").flatten());
    let run =
        |path: &Path| -> Value { serde_json::from_slice(&fs::read(path).expect("a run")).expect("JSON") };
    runs.map(|entry| run(&entry.path().join("run.json"))["counts"].clone()).collect()
}

fn sum(counts: &[Value], name: &str) -> u64 {
    counts.iter().map(|counts| counts[name].as_u64().expect("a count")).sum()
}

#[test]
fn a_server_counts_as_many_requests_as_a_profile_says_that_it_answered() {
    let server = Server::up(&[]);
    server.sql("CREATE TABLE shop.asked (id BIGINT PRIMARY KEY AUTO_INCREMENT)");
    let (home, workload) = (server.file("home"), server.file("ask.toml"));
    fs::write(&workload, WORKLOAD).expect("a file");
    let url = format!("mysql://app@{}/shop", server.address());
    let profile = ["-q", "profile", &url, "--workload", workload.to_str().expect("a path in UTF-8")];
    let short =
        ["--rate", "50,100", "--whole-sweep", "--repeats", "2", "--duration", "2s", "--warm-up", "0s"];
    let output = evenkeel(&home, &[&profile[..], &short].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    // Too short to be valid on a busy machine, and told in its counts all the same.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}: {said}", output.status);

    let counts = counts(&home);
    assert!(counts.len() >= 4, "two rates, two repeats: {counts:?}");
    let (arrivals, completed) = (sum(&counts, "arrivals"), sum(&counts, "completed"));
    assert!(counts.iter().all(|counts| counts["failed"] == Value::Object(Default::default())), "{counts:?}");
    // The server may have done what was given up; what was never sent it has not.
    let given_up = sum(&counts, "timed_out");
    assert_eq!(arrivals, completed + given_up + sum(&counts, "unsent"), "{counts:?}");
    let rows: u64 = server.sql("SELECT COUNT(*) FROM shop.asked").parse().expect("a count");
    assert!(rows >= completed && rows <= completed + given_up, "{rows} rows: {counts:?}");
    assert!(completed > 0, "{counts:?}");
}
