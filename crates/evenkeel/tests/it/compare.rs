//! What stored profiles answer: `evenkeel compare` as a pipeline asks it, and `evenkeel size`, of a profile whose truth is known.

use crate::cli::{asked, evenkeel, eventually, refused, unread, words};
use crate::guard::server::signal;
use crate::sandbox::{Home, done, measured};
use evenkeel_core::random::Seed;
use evenkeel_dev::profile::VirtualProfile;
use evenkeel_lab::load::nothing_measured;
use evenkeel_study::store::{Series, StudyFolder, run_name, write_tables};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const PROFILE: &str = "-q profile --workload tpcw.simple --items 100 --ebs 1 --rate 40 --whole-sweep --repeats 2 \
    --duration 2s --warm-up 500ms --no-reset";

pub fn run_folders(study: &Path) -> Vec<PathBuf> {
    let runs = fs::read_dir(study.join("runs")).expect("runs");
    runs.map(|entry| entry.expect("a run").path()).filter(|path| path.join("run.json").exists()).collect()
}

pub fn edit(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut value = serde_json::from_str(&fs::read_to_string(path).expect("a file")).expect("JSON");
    change(&mut value);
    fs::write(path, value.to_string()).expect("it can be written");
}

/// A copy of a study, of which every run says of its queue what is said here. What the machine of this test did to the generator is taken
/// away.
pub fn copy(from: &Path, name: &str, stability: &str) {
    let to = from.with_file_name(name);
    for run in run_folders(from) {
        let own = to.join("runs").join(run.file_name().expect("a name"));
        fs::create_dir_all(&own).expect("a folder");
        for entry in fs::read_dir(&run).expect("files") {
            let file = entry.expect("a file");
            fs::copy(file.path(), own.join(file.file_name())).expect("a copy");
        }
        edit(&own.join("run.json"), |run| {
            run["stability"] = stability.into();
            run["caveats"] = Value::Array(Vec::new());
            run["response"]["mean_ms"] = 3.0.into();
            run["lag"]["mean_ms"] = 0.0.into();
        });
    }
    for file in ["plan.json", "manifest.json"] {
        fs::copy(from.join(file), to.join(file)).expect("a copy");
    }
    edit(&to.join("plan.json"), |plan| plan["id"] = name.into());
}

#[test]
fn a_pipeline_is_told_of_a_rate_that_is_carried_no_more_and_of_a_damaged_study_by_codes_of_their_own() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let (_, said) = asked(home.path(), &words(PROFILE));
    let runs = home.path().join("runs");
    let study = fs::read_dir(&runs).expect("a study").next().expect(&said).expect("a folder").path();
    for (name, stability) in [("before", "settled"), ("again", "settled"), ("after", "unstable")] {
        copy(&study, name, stability);
    }
    let home = home.path();

    for of in ["response", "p95", "throughput"] {
        let (code, said) = asked(home, &["compare", "before", "after", "--of", of]);
        assert!(
            code == Some(1) && said.contains("worse: only `before` kept up at 40 requests/s"),
            "{code:?}: {said}"
        );
        assert!(said.contains("carried in all of 2 runs, then in none of 2 runs"), "{said}");
    }
    let (code, said) = asked(home, &["compare", "after", "before", "--of", "response"]);
    assert!(
        code == Some(0) && said.contains("better: only `before` kept up at 40 requests/s"),
        "{code:?}: {said}"
    );
    let (_, said) = asked(home, &["compare", "before", "after", "--of", "response", "--json"]);
    let json: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!((&json["verdict"], &json["at"][0]), (&"worse".into(), &"40 requests/s".into()), "{json}");
    let (code, said) = asked(home, &["compare", "before", "again", "--of", "response"]);
    assert!(code == Some(0) && said.contains("the same, within 5 %"), "{code:?}: {said}");

    // Too close to tell: the commands that would tell have the home in use.
    for (run, mean) in run_folders(&runs.join("again")).iter().zip([2.8, 3.2]) {
        edit(&run.join("run.json"), |run| run["response"]["mean_ms"] = mean.into());
    }
    let (_, said) = asked(home, &["compare", "before", "again", "--of", "response"]);
    let more = format!("\n    evenkeel --home {} profile --resume before ", home.display());
    assert!(said.contains(&more), "{said}");

    let run = run_folders(&runs.join("again")).remove(0);
    fs::remove_file(run.join("intervals.csv")).expect("it can be removed");
    let said = refused(home, &["compare", "before", "again", "--of", "response"]);
    assert!(said.contains("intervals.csv") && said.contains("hint:"), "{said}");
}

const SHOP: &str = "
name = 'shop'
[[statement]]
name = 'of_customer'
sql = 'SELECT COUNT(*), MAX(total) FROM orders WHERE customer = ?'
weight = 1
parameters = [{ uniform = { min = 1, max = 1000 } }]
[[statement]]
name = 'one'
sql = 'SELECT total FROM orders WHERE id = ?'
weight = 1
parameters = [{ uniform = { min = 1, max = 1000 } }]
";

/// Orders without an index on their customer.
fn shop(home: &Home) {
    let double =
        "INSERT INTO orders (customer, total) SELECT 1 + RAND() * 999, total FROM orders;".repeat(17);
    let sql = format!(
        "CREATE DATABASE shop; USE shop; CREATE TABLE orders (id INT PRIMARY KEY AUTO_INCREMENT, customer INT, total INT); \
         INSERT INTO orders (customer, total) VALUES (1, 7); {double}"
    );
    done(home.path(), &["sandbox", "shell", "a", "--", "-e", &sql]);
}

fn profile(home: &Path, file: &str, name: &str) {
    let line = "-q profile sandbox:a/shop --rate 20 --repeats 5 --duration 2s --warm-up 500ms --no-reset --whole-sweep";
    measured(home, &[&words(line)[..], &["--workload", file, "--name", name]].concat());
}

#[test]
fn an_index_is_found_by_name_before_and_after_overall_and_by_statement() {
    let server = Home::up(&[]);
    shop(&server);
    let (home, file) = (server.path(), &server.file("shop.toml"));
    fs::write(file, SHOP).expect("a file");
    profile(home, file, "before");
    done(home, &["sandbox", "shell", "a", "--", "-e", "CREATE INDEX c ON orders (customer)", "shop"]);
    profile(home, file, "after");

    let (code, said) = asked(home, &["compare", "before", "after"]);
    assert!(code == Some(0) && said.starts_with("better: response time of after is 0."), "{code:?}: {said}");
    assert!(said.contains("of_customer: better, "), "{said}");
    let of_cpu = ["compare", "before", "after", "--of", "cpu", "--json"];
    match serde_json::from_str::<Value>(&asked(home, &of_cpu).1) {
        // Busy neighbours make the CPU time of a few runs differ by more than half, as that of a response never does by 24 times.
        Ok(json) => {
            assert!(json["of"] == "cpu" && json["verdict"] != "worse", "{json}");
            assert!(
                json["ratio"].as_f64() < Some(1.0) && said.contains("CPU per request of after"),
                "{json}"
            );
            assert_eq!(json["statements"][0]["name"], "of_customer", "{json}");
        }
        Err(_) => assert!(refused(home, &of_cpu).contains("other load took"), "{said}"),
    }
    let page = &server.file("both.html");
    done(home, &["report", "before", "after", "--to", page]);
    let text = fs::read_to_string(page).expect("a page");
    assert!(text.contains("<h1>better: response time of B is 0."), "{text}");

    names(home, file);
    deleted(home, file);
}

/// Each command takes the name, `last` is the newest, and a taken name is refused.
fn names(home: &Path, file: &str) {
    assert_eq!(done(home, &["export", "last"]), done(home, &["export", "after"]));
    assert!(done(home, &["runs"]).contains("before"));
    let output = evenkeel(home, &["-q", "profile", "--resume", "before", "--repeats", "4"]);
    let fourth = home.join("runs/before/runs/c01-r4/run.json");
    assert!(fourth.exists(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = refused(home, &["profile", "sandbox:a/shop", "--workload", file, "--name", "before"]);
    assert!(said.contains("a study before already") && said.contains("runs delete before"), "{said}");
    assert!(refused(home, &["profile", "--name", "last"]).contains("is not a name for a study"));
}

#[test]
fn a_folder_that_is_no_study_is_not_deleted() {
    let home = tempfile::tempdir().expect("a folder");
    let project = home.path().join("outer/project");
    fs::create_dir_all(project.join("runs")).expect("folders");
    fs::write(project.join("thesis.txt"), "three years").expect("a file");
    let outer = home.path().join("outer");
    let outer = outer.to_str().expect("a path in UTF-8");
    let said = refused(home.path(), &["runs", "delete", "--output", outer, "project"]);
    assert!(said.contains("project is not deleted") && said.contains("by hand"), "{said}");
    assert!(project.join("thesis.txt").exists(), "{said}");
}

/// Whole names are deleted, none while one is measured; one that is stopped in its first run leaves nothing.
fn deleted(home: &Path, file: &str) {
    let long = words("profile sandbox:a/shop --rate 40 --warm-up 60s --name gone --workload");
    let mut child = unread(home, &[&long[..], &[file]].concat());
    eventually("the study has a folder", || home.join("runs/gone/plan.json").exists());
    let said = refused(home, &["runs", "delete", "before", "gone"]);
    assert!(said.contains("is being measured") && home.join("runs/before").exists(), "{said}");
    signal("-TERM", child.id() as i32);
    assert_eq!(child.wait().expect("it ends").code(), Some(143));
    assert!(!home.join("runs/gone").exists());

    assert!(refused(home, &["runs", "delete", "befor"]).contains("no study named befor"));
    let said = done(home, &["runs", "delete", "before", "after"]);
    assert!(said.contains("deleted ") && !home.join("runs/before").exists(), "{said}");
}

/// Writes the profile of a server of one CPU that takes 4 ms for each request, at these parts of what it carries.
fn profiled(home: &Path, loads: &[f64]) {
    let (plan, runs) = VirtualProfile::of_one_cpu(loads).play(Seed(1)).expect("rates");
    let folder = StudyFolder::create_for(&home.join("runs"), &plan.id, &plan).expect("a folder");
    for run in runs {
        let name = run_name(run.cell, run.repeat);
        folder.begin_run(&name).expect("a run");
        let tables = |dir: &Path| write_tables(dir, &nothing_measured(), &Series::default());
        folder.finish_run(&name, &run, tables).expect("a run");
    }
}

#[test]
fn a_stored_profile_says_servers_response_and_money_and_refuses_what_no_server_carries() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let home = home.path();
    profiled(home, &[0.2, 0.4, 0.6, 0.8, 1.3, 1.8]);
    let size = |words: &[&str]| asked(home, &[&["size", "last", "--rate"], words].concat());
    // Of M/M/1 p95 is 12 ms / (1 - u): within 30 ms up to 150 requests/s, so that three servers do, or some more with what is not known.
    let (code, text) = size(&["400", "--objective", "p95=30ms", "--cost", "0.12/h", "--json"]);
    assert_eq!(code, Some(0), "{text}");
    let found: Value = serde_json::from_str(&text).expect("JSON");
    let answer = &found["answers"][0];
    let servers = answer["servers"].as_f64().expect("servers");
    assert!((3.0..=5.0).contains(&servers), "{text}");
    assert!((answer["cost"]["per_hour"].as_f64().expect("money") - 0.12 * servers).abs() < 1e-9, "{text}");
    let tau = |end: &str| answer["each"]["tau_ms"][end].as_f64().expect("a response");
    let truth = 4.0 / (1.0 - 0.004 * 400.0 / servers);
    assert!(tau("low") < truth && truth < tau("high"), "{truth} {text}");
    let (code, text) = size(&["450", "--servers", "1"]);
    assert!(code == Some(1) && text.contains("cannot carry 450 requests/s"), "{text}");
    assert!(text.contains("evenkeel profile --workload virtual --within 10m "), "{text}");
}

#[test]
fn one_rate_is_enough_for_a_wide_answer_and_none_is_refused_with_the_command_that_answers() {
    let home = tempfile::tempdir().expect("a temporary directory");
    profiled(home.path(), &[0.3, 1.8]);
    let (code, text) = asked(home.path(), &["size", "last", "--rate", "180", "--servers", "1"]);
    assert!(code == Some(1) && text.contains("one settled rate"), "{text}");
    assert!(text.contains("the server may not carry this rate"), "{text}");
    let home = tempfile::tempdir().expect("a temporary directory");
    profiled(home.path(), &[0.2, 0.4, 0.6]);
    let beyond = ["size", "last", "--rate", "165", "--servers", "1", "--objective", "mean=1s"];
    let (code, text) = asked(home.path(), &beyond);
    assert!(code == Some(1) && text.contains("met if it carries that much; it surely carries"), "{text}");
    let home = tempfile::tempdir().expect("a temporary directory");
    profiled(home.path(), &[1.3, 1.8]);
    let text = refused(home.path(), &["size", "last", "--rate", "400"]);
    assert!(text.contains("evenkeel profile --workload virtual --rate "), "{text}");
}
