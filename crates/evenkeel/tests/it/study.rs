//! A tiny throttling study from the command line, against a real server: measured, stopped, resumed, drawn.

use crate::cli::{evenkeel, refused};
use serde_json::Value;
use std::path::Path;

const TINY: [&str; 16] = [
    "--clients",
    "1,3",
    "--ways",
    "direct,evenkeel",
    "--duration",
    "500ms",
    "--warm-up",
    "500ms",
    "--repeats",
    "1",
    "--step",
    "1s",
    "--ebs",
    "1",
    "--items",
    "100",
];

fn done(home: &Path, arguments: &[&str]) -> String {
    let output = evenkeel(home, arguments);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{arguments:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn a_study_measures_every_point_and_goes_on_where_one_is_missing() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let page = home.path().join("page.html");
    let out = page.to_string_lossy().into_owned();
    let arguments =
        [&["-q", "study", "throttling", "--json", "--second", "always", "--out", &out], &TINY[..]].concat();
    let results: Value = serde_json::from_str(&done(home.path(), &arguments)).expect("JSON");

    let cells = results["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 8, "two workloads, two ways, two counts: {cells:#?}");
    for cell in cells {
        let throughput = cell["figures"]["throughput_per_s"]["mean"].as_f64();
        assert!(throughput.is_some_and(|rate| rate > 0.0), "nothing was committed: {cell}");
        let is_guarded = cell["way"] == "evenkeel";
        assert_eq!(cell["figures"]["limit_mean"]["mean"].is_number(), is_guarded, "{cell}");
        // What cannot be counted is absent, never zero.
        assert_ne!(cell["figures"]["cycles_per_commit"]["mean"], 0.0, "{cell}");
    }
    assert_eq!(results["steps"].as_array().map(Vec::len), Some(2));
    let text = std::fs::read_to_string(&page).expect("the page was written");
    assert!(
        text.contains("shown here: without control") || text.contains("Shown here: without control"),
        "no finding"
    );
    assert!(text.contains("throughput-reread") && text.ends_with("</html>\n"));

    resumed(home.path(), results["id"].as_str().expect("a name"));
    assert!(
        !home.path().join("sandboxes").join(results["id"].as_str().expect("a name")).exists(),
        "data stayed"
    );
}

/// One point is taken away: it alone is measured again.
fn resumed(home: &Path, id: &str) {
    let points = home.join("studies").join(id).join("points");
    let (gone, kept) = (points.join("shopping-direct-3-r1.json"), points.join("shopping-evenkeel-3-r1.json"));
    let before = std::fs::read(&kept).expect("a point");
    std::fs::remove_file(&gone).expect("a point to lose");
    let text = done(home, &["study", "throttling", "--resume", "last"]);
    assert!(text.contains("report: ") && text.contains("ranges read again and again"), "{text}");
    assert!(gone.exists(), "the missing point was measured");
    assert_eq!(std::fs::read(&kept).expect("a point"), before, "a finished point was measured again");
}

#[test]
fn studies_are_listed_and_wrong_use_is_refused_before_anything_starts() {
    let home = tempfile::tempdir().expect("a temporary directory");
    assert!(done(home.path(), &["study", "--list"]).starts_with("throttling "));
    for (arguments, expected) in [
        (&["study"][..], "evenkeel study --list"),
        (&["study", "throttling", "--duration", "10ms"], "too short"),
        (&["study", "throttling", "--clients", "0"], "0 is not in"),
        (&["study", "throttling", "--resume", "nothing"], "no study named nothing"),
        (&["study", "throttling", "--cpus", "x"], "--cpus"),
        (&["study", "shares", "--experiments", "table-9"], "they are table-3"),
        (&["study", "shares", "--live", "--period", "50ms"], "between 200ms and 10s"),
        (&["study", "shares", "--databases", "--ways", "x"], "they are uncontrolled, parda, evenkeel"),
        (&["study", "shares", "--databases", "--live"], "cannot be used with"),
        (&["study", "shares", "--quick"], "--databases"),
    ] {
        let text = refused(home.path(), arguments);
        assert!(text.contains(expected), "{arguments:?}: {text}");
    }
    assert!(!home.path().join("studies").exists() && !home.path().join("sandboxes").exists());
}

const LIVE: [&str; 6] = ["study", "shares", "--live", "--period=200ms", "--experiments=table-7-64", "--json"];

#[test]
fn hosts_share_an_array_in_real_time_with_fio_as_their_clients() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let text = done(home.path(), &LIVE);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let ratio =
        |line: &Value| line["iops"][1].as_f64().unwrap_or(0.0) / line["iops"][0].as_f64().unwrap_or(0.0);
    let ways: Vec<&str> = lines.iter().filter_map(|line| line["way"].as_str()).collect();
    assert_eq!(ways, ["uncontrolled", "parda", "evenkeel"]);
    // Shares are 1:4. Loose, since other tests run beside this one.
    assert!(ratio(&lines[0]) < 2.0 && ratio(&lines[2]) > 2.0, "{text}");
    let studies = std::fs::read_dir(home.path().join("studies")).expect("studies");
    let study = studies.flatten().next().expect("one").path();
    let names: Vec<_> =
        std::fs::read_dir(&study).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names.len(), 2, "the page and the periods, and nothing of the runs: {names:?}");
    let periods = std::fs::read_to_string(study.join("periods.csv")).expect("periods");
    // Two hosts, 60 periods each, three ways; some may be missed.
    assert!(periods.lines().count() > 250, "{}", periods.lines().count());
}

#[test]
fn a_live_study_that_is_stopped_leaves_no_host_and_no_client() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command.arg("--home").arg(home.path()).args(LIVE).stderr(std::process::Stdio::null());
    let mut study = command.stdout(std::process::Stdio::null()).spawn().expect("the binary can be started");
    let ours = || {
        let processes = std::fs::read_dir("/proc").expect("/proc").flatten();
        let wanted = home.path().to_string_lossy().into_owned();
        let commands = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        commands.filter(|command| String::from_utf8_lossy(command).contains(&wanted)).count()
    };
    let come = (0..1_000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        ours() >= 3
    });
    assert!(come, "no hosts");
    let pid = study.id().to_string();
    assert!(
        std::process::Command::new("kill").args(["-INT", &pid]).status().expect("kill is there").success()
    );
    assert_ne!(study.wait().expect("it ends").code(), Some(0));
    assert_eq!(ours(), 0);
    let studies = std::fs::read_dir(home.path().join("studies")).expect("studies");
    assert_eq!(studies.count(), 0, "the folder of a study in which nothing was finished");
}
