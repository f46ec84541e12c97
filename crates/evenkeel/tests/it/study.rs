//! A tiny throttling study from the command line, against a real server: measured, stopped, resumed, drawn.

use crate::cli::{refused, unread};
use crate::guard::proxy::signal;
use crate::patience::eventually;
use crate::sandbox::done;
use serde_json::Value;
use std::path::Path;

/// A tiny study: these clients and ways, and more settings.
fn tiny<'a>(settings: &[&'a str]) -> Vec<&'a str> {
    let common = ["-q", "study", "throttling", "--quick", "--json", "--repeats", "1"];
    [&common[..], &["duration=500ms", "warm-up=500ms", "step=1s"], settings].concat()
}

#[test]
fn a_study_measures_every_point_and_goes_on_where_one_is_missing() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let page = home.path().join("runs/tiny/report.html");
    let arguments = tiny(&["clients=1,3", "ways=direct,evenkeel", "second=always", "--name", "tiny"]);
    // A sandbox of the user's may have the name of the study, and stays.
    done(home.path(), &["sandbox", "up", "tiny"]);
    done(home.path(), &["sandbox", "down", "tiny"]);
    let results: Value = serde_json::from_str(&done(home.path(), &arguments)).expect("JSON");

    let cells: Vec<&Value> = points(&results);
    assert_eq!(cells.len(), 8, "two workloads, two ways, two counts: {cells:#?}");
    let figure = |cell: &Value, name: &str| cell["figures"][name]["mean"].as_f64();
    // A machine that stands still for the half second of a point commits nothing in it; not in all of them.
    let commits = |cell: &Value| figure(cell, "throughput_per_s").is_some_and(|rate| rate > 0.0);
    assert!(cells.iter().copied().any(commits), "nothing was committed: {cells:#?}");
    let (guarded, direct): (Vec<&Value>, Vec<&Value>) =
        cells.iter().partition(|cell| cell["way"] == "evenkeel");
    assert!(guarded.iter().any(|cell| figure(cell, "limit_mean").is_some()), "no limit: {guarded:#?}");
    assert!(direct.iter().all(|cell| figure(cell, "limit_mean").is_none()), "without a guard: {direct:#?}");
    for cell in cells {
        // What cannot be counted is absent, never zero.
        assert_ne!(cell["figures"]["cycles_per_commit"]["mean"], 0.0, "{cell}");
    }
    assert_eq!(results["series"].as_array().map(Vec::len), Some(2), "a step of each way");
    let text = std::fs::read_to_string(&page).expect("the page was written");
    // One run of each point has no spread, so that nothing is shown, however the curve falls.
    assert_eq!(results["findings"][0]["outcome"], "not testable here", "{results:#}");
    assert!(text.contains("throughput-reread") && text.ends_with("</html>\n"));

    resumed(home.path(), results["id"].as_str().expect("a name"));
    seen_by_all(home.path(), &results, "throttling", "study,part,way,clients,figure,runs,mean");
    let sandboxes = done(home.path(), &["sandbox", "list"]);
    assert!(sandboxes.contains("tiny ") && !sandboxes.contains("tiny-"), "{sandboxes}");
}

/// Cells of the two workloads; steps have no figures of their own.
fn points(results: &Value) -> Vec<&Value> {
    let cells = results["cells"].as_array().expect("cells");
    cells.iter().filter(|cell| cell["part"] != "step").collect()
}

/// The commands that read studies see this one too, and say the same of it.
pub fn seen_by_all(home: &Path, results: &Value, name: &str, csv: &str) {
    let id = results["id"].as_str().expect("a name");
    let list = done(home, &["runs"]);
    let name = format!("study of {name}");
    assert!(list.contains(id) && list.contains(&name) && list.contains("complete"), "{list}");
    let shown: Value = serde_json::from_str(&done(home, &["runs", id, "--json"])).expect("JSON");
    assert_eq!(shown["id"], results["id"]);
    let cells = done(home, &["export", id]);
    assert!(cells.starts_with(csv), "{cells}");
    let page = done(home, &["report", id]);
    assert!(std::fs::read_to_string(page.trim()).is_ok_and(|page| page.ends_with("</html>\n")), "{page}");
}

/// One point is taken away: it alone is measured again.
fn resumed(home: &Path, id: &str) {
    let runs = home.join("runs").join(id).join("runs");
    let (gone, kept) = (runs.join("shopping-direct-3-r1"), runs.join("shopping-evenkeel-3-r1/run.json"));
    let before = std::fs::read(&kept).expect("a point");
    std::fs::remove_dir_all(&gone).expect("a point to lose");
    // Where others disturbed it, it was measured once more, and the second attempt counts as the point too.
    let second = runs.join("shopping-direct-3-r1.attempt-2");
    if second.exists() {
        std::fs::remove_dir_all(second).expect("its second attempt");
    }
    let text = done(home, &["study", "--resume", "last"]);
    assert!(text.contains("report: ") && text.contains("ranges read again and again"), "{text}");
    assert!(gone.join("run.json").exists(), "the missing point was measured");
    assert_eq!(std::fs::read(&kept).expect("a point"), before, "a finished point was measured again");
}

#[test]
fn studies_are_listed_and_wrong_use_is_refused_before_anything_starts() {
    let home = tempfile::tempdir().expect("a temporary directory");
    assert!(done(home.path(), &["study", "--list"]).contains("\nthrottling "));
    for (arguments, expected) in [
        (&["study"][..], "evenkeel study --list"),
        (&["study", "throttling", "cliens=4"], "did you mean `clients`?"),
        (&["study", "throttling", "--clients", "4"], "have no dashes: clients=4,16"),
        (&["study", "shares", "--quick"], "the study of shares has no --quick"),
        (&["study", "variation", "--repeats", "9"], "the study of variation has no --repeats"),
        (&["study", "shares", "--name", "last"], "not a name for a study"),
        (&["study", "telecom", "--resume", "last"], "leave the others out"),
        (&["study", "--resume", "nothing"], "no study named nothing"),
    ] {
        let text = refused(home.path(), arguments);
        assert!(text.contains(expected), "{arguments:?}: {text}");
    }
    assert!(["runs", "studies", "sandboxes"].iter().all(|name| !home.path().join(name).exists()));
}

const LIVE: [&str; 6] = ["study", "shares", "live=yes", "period=200ms", "experiments=table-7-64", "--json"];

#[test]
fn hosts_share_an_array_in_real_time_with_fio_as_their_clients() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let results: Value = serde_json::from_str(&done(home.path(), &LIVE)).expect("JSON");
    let cells = results["cells"].as_array().expect("cells");
    let ways: Vec<&str> = cells.iter().filter_map(|cell| cell["way"].as_str()).collect();
    assert_eq!(ways, ["uncontrolled", "parda", "evenkeel"]);
    let iops =
        |cell: &Value, host: &str| cell["figures"][format!("iops@{host}")]["mean"].as_f64().unwrap_or(0.0);
    assert!(cells.iter().all(|cell| iops(cell, "1") > 0.0 && iops(cell, "2") > 0.0), "{cells:#?}");
    let folder = home.path().join("runs").join(results["id"].as_str().expect("a name"));
    assert_eq!(std::fs::read_dir(folder.join("runs")).expect("runs").count(), 3);
    assert!(!home.path().join("scratch").exists(), "hosts left something");
    // Shares are 1:4. What comes of that is for a quiet machine to measure; windows are what hosts give
    // themselves.
    let most = |way| windows(&results, way).into_iter().map(|[one, other]| other / one).reduce(f64::max);
    assert_eq!(most("uncontrolled"), Some(1.0), "{}", results["series"]);
    assert!(most("evenkeel").is_some_and(|ratio| ratio > 2.0), "{}", results["series"]);
    let text = done(home.path(), &["study", "--resume", "last"]);
    assert!(text.starts_with("Shares within 10 %"), "nothing is missing, and all is told again: {text}");
}

/// Windows of both hosts under a way, whenever one of them has told a period and both have been heard.
fn windows(results: &Value, way: &str) -> Vec<[f64; 2]> {
    let series = results["series"].as_array().expect("series");
    let of_way = series.iter().find(|run| run["levels"][0] == way).expect("a run");
    let columns = of_way["columns"].as_array().expect("columns");
    let places = ["window@1", "window@2"]
        .map(|name| columns.iter().position(|column| column == name).expect("a column of windows"));
    let (mut latest, mut found) = ([None; 2], Vec::new());
    for row in of_way["rows"].as_array().expect("rows") {
        for (host, place) in places.into_iter().enumerate() {
            latest[host] = row[1][place].as_f64().or(latest[host]);
        }
        found.extend(latest[0].zip(latest[1]).map(|(one, other)| [one, other]));
    }
    found
}

#[test]
fn a_live_study_that_is_stopped_leaves_no_host_and_no_client() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let mut study = unread(home.path(), &LIVE);
    let ours = || {
        let processes = std::fs::read_dir("/proc").expect("/proc").flatten();
        let wanted = home.path().to_string_lossy().into_owned();
        let commands = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        commands.filter(|command| String::from_utf8_lossy(command).contains(&wanted)).count()
    };
    eventually("hosts", || ours() >= 3);
    signal("-INT", study.id() as i32);
    assert_ne!(study.wait().expect("it ends").code(), Some(0));
    assert_eq!(ours(), 0);
    let studies = std::fs::read_dir(home.path().join("runs")).expect("studies");
    assert_eq!(studies.count(), 0, "the folder of a study in which nothing was finished");
}

#[test]
fn a_study_of_ones_own_measures_its_figures_and_compares_the_runs_of_its_claim() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let results = done(home.path(), &["-q", "study", "forgotten", "--quick", "--json"]);
    let results: Value = serde_json::from_str(&results).expect("JSON");
    let history = |transaction: &str| {
        let mut cells = points(&results).into_iter();
        let cell = cells.find(|cell| cell["transaction"] == transaction && cell["updates"] == 100);
        cell.and_then(|cell| cell["figures"]["history"]["mean"].as_f64())
    };
    assert!(history("open") >= Some(100.0) && history("none") < Some(50.0), "{results}");
    let ratio = &results["findings"][0]["numbers"]["open_over_none"]["value"];
    assert!(ratio.as_f64() > Some(1.0), "{results}");
}
