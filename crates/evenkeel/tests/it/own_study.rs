//! A study of a user's from its file to its findings, as a user runs it.

use crate::cli::{evenkeel, refused};
use crate::left_out::left_out;
use crate::sandbox::measured;
use serde_json::Value;

/// One factor, whose second level asks for much more.
const STUDY: &str = "name = 'wait'\nquestion = 'Does waiting matter?'\ncompare = 'response'\n[profile]\nworkload = 'tpcw.simple'\n\
    items = 100\nebs = 1\nrate = '40'\nwhole-sweep = true\nrepeats = 3\nretries = 0\nduration = '8s'\nwarm-up = '500ms'\nno-reset = true\n\
    [[factor]]\nname = 'pace'\n[[factor.level]]\nname = 'plain'\n[[factor.level]]\nname = 'slow'\n\
    workload = 'tpcw.best_sellers'\n";

#[test]
fn a_study_file_is_measured_level_against_level_and_its_findings_are_the_same_after_a_resume() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let file = home.path().join("wait.toml");
    std::fs::write(&file, STUDY).expect("a file");
    let path = file.to_str().expect("a path in UTF-8");
    let said = measured(home.path(), &["-q", "study", "--json", path, "--name", "wait"]);
    let found: Value = serde_json::from_str(&said).expect("JSON");
    let finding = &found["findings"][0];
    assert_eq!((&finding["first"], &finding["second"]), (&"pace plain".into(), &"pace slow".into()));
    let left = format!("{}{}", finding["error"], finding["left_out"]);
    match finding["ratio"].as_f64() {
        // Where the machine is too busy for a generator that keeps its instants, nothing is compared, and that is said.
        None => {
            assert!(left.contains("40 requests/s: "), "{finding}");
            left_out(format!("its levels could not be compared: {left}"));
        }
        Some(ratio) => {
            let runs = |side: &str| finding["conditions"][0][side].as_array().map_or(0, Vec::len);
            assert!((1..=3).contains(&runs("first")) && (1..=3).contains(&runs("second")), "{finding}");
            assert!(ratio > 1.0 && finding["verdict"] != "better", "{finding}");
        }
    }

    // Finished, it goes on with nothing, and the same findings come of it.
    let again = measured(home.path(), &["-q", "study", "--json", "--resume", "last"]);
    assert_eq!(serde_json::from_str::<Value>(&again).expect("JSON"), found);

    // Its page says the same of the levels, in its title.
    let page = home.path().join("page.html");
    evenkeel(home.path(), &["report", "wait", "--to", page.to_str().expect("a path in UTF-8")]);
    let text = std::fs::read_to_string(&page).expect("a page");
    let title = text.split("<h1>").nth(1).and_then(|rest| rest.split("</h1>").next()).expect("a title");
    assert!(title.contains("pace slow") && title.contains("pace plain"), "{title}");

    let home = home.path();
    assert!(refused(home, &["compare", "last", "last"]).contains("name two studies"));
}

#[test]
fn a_level_whose_setting_the_server_does_not_take_is_refused_and_not_measured() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let file = home.path().join("wait.toml");
    let text = STUDY.replace("name = 'plain'\n", "name = 'plain'\nset = 'innodb_io_capacity=50'\n");
    std::fs::write(&file, text).expect("a file");
    let said = refused(home.path(), &["study", file.to_str().expect("a path in UTF-8")]);
    assert!(said.contains("innodb_io_capacity was set to 50, and the server has 100"), "{said}");
    assert!(said.contains("--set innodb_io_capacity=100"), "{said}");
    assert_eq!(home.path().join("runs").read_dir().map_or(0, Iterator::count), 0, "nothing was measured");
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
    let said = refused(&OWN_WORKLOAD.replace("PW1@127.0.0.1:1/d'", "PW1@127.0.0.1:1/d"));
    assert!(said.contains("TOML parse error at line "), "{said}");
}
