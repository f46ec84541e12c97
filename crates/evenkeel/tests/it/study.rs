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
    ] {
        let text = refused(home.path(), arguments);
        assert!(text.contains(expected), "{arguments:?}: {text}");
    }
    assert!(!home.path().join("studies").exists() && !home.path().join("sandboxes").exists());
}
