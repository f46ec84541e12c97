//! A tiny variation study from the command line, against real servers: killed and gone on with, with servers that are not alike, and
//! with one that dies.

use crate::cli::{ended, evenkeel, piped, refused, words};
use crate::patience::eventually;
use crate::sandbox::done;
use crate::study::seen_by_all;
use crate::study_telecom::killed_and_resumed;
use serde_json::Value;
use std::fs;
use std::path::Path;

const TINY: &str = "study variation duet=yes rate=30 runs=2 duration=1s warm-up=0s items=1000 pool=300";

/// A workload of the user's on the tables of private servers.
const NEWEST: &str = r#"
name = "newest"

[[statement]]
name = "newest"
sql = "SELECT i_id, i_title, a_fname, a_lname FROM item JOIN author ON a_id = i_a_id WHERE i_subject = ? ORDER BY i_pub_date DESC, i_title LIMIT 50"
tables = ["item", "author"]
parameters = [{ choice = { values = ["ARTS", "HISTORY", "TRAVEL"] } }]
"#;

#[test]
fn a_study_that_is_killed_goes_on_and_says_of_each_suspect_what_it_found() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let file = home.path().join("newest.toml");
    fs::write(&file, NEWEST).expect("a workload");
    let workload = format!("workload={}", file.display());
    let tiny = [&words(TINY)[..], &["starts=3", "mu=50%", &workload]].concat();
    let without_the_file = || fs::remove_file(&file).expect("the study has its own");
    let results = killed_and_resumed(home.path(), &tiny, 6, without_the_file);
    assert_eq!(results["cells"][0]["runs"], 6, "{results:#}");
    suspects_have_verdicts(&results);
    seen_by_all(home.path(), &results, "variation", "study,part,rate,figure");
}

fn suspects_have_verdicts(results: &Value) {
    let verdicts = results["verdicts"].as_array().expect("verdicts");
    let suspects: Vec<&str> = verdicts.iter().filter_map(|verdict| verdict["suspect"].as_str()).collect();
    assert_eq!(suspects, ["network", "disk", "layout", "plan", "start", "stolen-cpu", "neighbours"]);
    let levels = results["components"].as_array().expect("components");
    for known in ["start", "run", "request"] {
        assert!(levels.iter().any(|level| level["level"] == known), "{known} in {levels:#?}");
    }
    let figures = &results["cells"][0]["figures"];
    for name in ["tau_ms@t1", "tau_ms@t2", "rows_per_request@t1", "network_ms@t2", "theta_percent@t1"] {
        assert!(figures[name]["mean"].is_number(), "{name} in {figures:#}");
    }
    // The same arrivals with the same parameters touch the same rows.
    let rows =
        |target: &str| figures[format!("rows_per_request@{target}")]["mean"].as_f64().unwrap_or_default();
    assert!((rows("t1") / rows("t2") - 1.0).abs() < 0.2, "{figures:#}");
}

/// The process of a sandbox that is up.
fn pid(home: &Path, name: &str) -> Option<i32> {
    let text = fs::read_to_string(home.join("sandboxes").join(name).join("sandbox.json")).ok()?;
    let record: Value = serde_json::from_str(&text).ok()?;
    i32::try_from(record["running"]["pid"].as_i64()?).ok()
}

#[test]
fn servers_that_are_not_alike_are_refused_by_name_and_one_that_dies_is_named() {
    let home = tempfile::tempdir().expect("a temporary directory");
    for setting in ["a --set sort_buffer_size=1M", "b --set sort_buffer_size=2M"] {
        done(home.path(), &words(&format!("-q sandbox up --ebs 1 --items 1000 {setting}")));
    }
    let study = ["study", "variation", "url=sandbox:a", "url=sandbox:b", "duet=yes", "rate=30"];
    let told = refused(home.path(), &study);
    assert!(told.contains("sort_buffer_size is 1048576 at t1 (sandbox:a) and 2097152 at t2"), "{told}");
    assert!(told.contains("may-differ=yes") && !has_studies(home.path()), "{told}");
    // One server by its socket and by its port.
    let places = done(home.path(), &words("-q sandbox up a --set sort_buffer_size=1M"));
    let (_, port) = places.split_once("@127.0.0.1:").expect("a port");
    let port: String = port.chars().take_while(char::is_ascii_digit).collect();
    let account = "CREATE USER probe@'127.0.0.1'; GRANT ALL ON *.* TO probe@'127.0.0.1'";
    evenkeel(home.path(), &["sandbox", "shell", "a", "--", "-e", account]);
    let url = format!("url=mysql://probe@127.0.0.1:{port}/tpcw");
    let told = refused(home.path(), &["study", "variation", "url=sandbox:a", &url, "duet=yes", "rate=30"]);
    assert!(told.contains("are one server") && !has_studies(home.path()), "{told}");

    let long = [&study[..], &["may-differ=yes", "duration=30s", "warm-up=0s", "starts=1", "runs=2"]].concat();
    let mut dying = piped(home.path(), &long);
    eventually("a plan", || has_studies(home.path()));
    // Wherever the server is hit, on its way up or in its run, the study ends by its name.
    while dying.try_wait().expect("a child").is_none() {
        std::thread::sleep(std::time::Duration::from_secs(3));
        if let Some(pid) = pid(home.path(), "b") {
            // It may just have ended by itself.
            let _ = std::process::Command::new("kill").args(["-KILL", &pid.to_string()]).status();
        }
    }
    let (_, told) = ended(&dying.wait_with_output().expect("an end"), 2);
    assert!(told.contains("t2 (sandbox:b)") && told.contains("hint:"), "{told}");
    evenkeel(home.path(), &["sandbox", "down", "a"]);
    evenkeel(home.path(), &["sandbox", "down", "b"]);
}

fn has_studies(home: &Path) -> bool {
    fs::read_dir(home.join("runs")).is_ok_and(|mut studies| studies.next().is_some())
}
