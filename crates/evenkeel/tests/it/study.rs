//! Tiny studies from the command line, against a real server: measured, stopped, resumed, drawn.

use crate::cli::{ended, evenkeel, eventually, kill, piped, refused, unread, words};
use crate::guard::server::signal;
use crate::sandbox::done;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

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

// A replay of 1 to 12 clients takes half a minute; what is mixed goes the same way.
const TELECOM: [&str; 5] =
    ["study", "telecom", "--quick", "records=2000", "parts=export,load,crash,dispatch,days,mixed"];

/// Folders of finished runs of the one study.
fn runs(home: &Path) -> Vec<PathBuf> {
    let study = fs::read_dir(home.join("runs")).ok().and_then(|mut all| all.next()).and_then(Result::ok);
    let listed = study.and_then(|study| fs::read_dir(study.path().join("runs")).ok());
    let paths = listed.into_iter().flatten().flatten().map(|entry| entry.path());
    paths.filter(|path| path.join("run.json").exists() && path.extension().is_none()).collect()
}

/// Kills a study after three runs, and what it comes to when it goes on: no finished run is made again.
pub fn killed_and_resumed(home: &Path, study: &[&str], most: usize, meanwhile: impl FnOnce()) -> Value {
    let study = unread(home, study);
    eventually("three runs", || runs(home).len() >= 3);
    kill(study);
    let before = runs(home);
    let first = fs::read(before[0].join("run.json")).expect("a run");
    assert!(before.len() < most, "killed when all was done");
    meanwhile();
    let results = done(home, &["-q", "study", "--resume", "last", "--json"]);
    assert_eq!(fs::read(before[0].join("run.json")).expect("a run"), first, "a finished run was made again");
    serde_json::from_str(&results).expect("JSON")
}

#[test]
fn a_study_that_is_killed_goes_on_and_no_record_of_any_of_its_loads_is_lost_or_doubled() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let results = killed_and_resumed(home.path(), &TELECOM, 19, || ());
    each_cell_is_audited(&results);
    let left = |folder: &str| home.path().join(folder).read_dir().map_or(0, Iterator::count);
    assert_eq!((left("sandboxes"), left("scratch")), (0, 0), "the server or its data stayed");
    seen_by_all(home.path(), &results, "telecom", "study,part,connections,way,indexes,source,clients,figure");
}

fn each_cell_is_audited(results: &Value) {
    let cells = results["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 19, "{cells:#?}");
    let figure = |cell: &Value, name: &str| cell["figures"][name]["mean"].as_f64();
    for cell in cells {
        // What a loss would have ended is no figure: it could not be anything but nothing.
        assert!(cell["figures"]["lost"].is_null() && cell["figures"]["doubled"].is_null(), "{cell}");
        assert!(figure(cell, "records").is_some_and(|records| records >= 2_000.0), "{cell}");
        assert!(figure(cell, "seconds").is_some_and(|seconds| seconds > 0.0), "{cell}");
        if cell["part"] == "crash" {
            assert!(figure(cell, "killed_at_percent").is_some_and(|percent| percent > 0.0), "{cell}");
            assert!(figure(cell, "recovery_s").is_some_and(|seconds| seconds > 0.0), "{cell}");
        }
    }
}

const VARIATION: &str = "study variation duet=yes rate=30 runs=2 duration=1s warm-up=0s items=1000 pool=300";

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
    let tiny = [&words(VARIATION)[..], &["starts=3", "mu=50%", &workload]].concat();
    let without_the_file = || fs::remove_file(&file).expect("the study has its own");
    let results = killed_and_resumed(home.path(), &tiny, 6, without_the_file);
    assert_eq!(results["cells"][0]["runs"], 6, "{results:#}");
    suspects_have_verdicts(&results);
    seen_by_all(home.path(), &results, "variation", "study,part,rate,figure");
}

const SUSPECTS: [&str; 13] = [
    "network",
    "disk",
    "syncs",
    "data-syncs",
    "locks",
    "layout",
    "pool",
    "plan",
    "cpu-work",
    "cpu-wait",
    "neighbours",
    "stolen-cpu",
    "start",
];

fn suspects_have_verdicts(results: &Value) {
    let verdicts = results["verdicts"].as_array().expect("verdicts");
    let suspects: Vec<&str> = verdicts.iter().filter_map(|verdict| verdict["suspect"].as_str()).collect();
    assert_eq!(suspects, SUSPECTS);
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
