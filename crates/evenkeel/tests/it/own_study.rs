//! A study of a user's from its file to its findings, as a user runs it.

use crate::cli::{evenkeel, refused};
use crate::sandbox::measured;
use serde_json::Value;

/// One factor, whose second level asks for much more.
const STUDY: &str = "name = 'wait'\nquestion = 'Does waiting matter?'\ncompare = 'response'\n[profile]\nworkload = 'tpcw.simple'\n\
    items = 100\nebs = 1\nrate = '40'\nwhole-sweep = true\nrepeats = 3\nretries = 0\nduration = '8s'\nwarm-up = '500ms'\nno-reset = true\n\
    [[factor]]\nname = 'pace'\n[[factor.level]]\nname = 'plain'\n[[factor.level]]\nname = 'slow'\n\
    workload = 'tpcw.complex'\n";

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
    match finding["error"].as_str() {
        // Where the machine is too busy for a generator that keeps its instants, nothing is compared, and that is said.
        Some(error) => assert!(error.contains("40 requests/s: the generator failed"), "{error}"),
        None if finding["ratio"].is_null() => {
            assert!(finding["left_out"].to_string().contains("40 requests/s: "), "{finding}");
        }
        None => {
            let runs = |side: &str| finding["conditions"][0][side].as_array().map_or(0, Vec::len);
            assert!((1..=3).contains(&runs("first")) && (1..=3).contains(&runs("second")), "{finding}");
            assert!(finding["ratio"].as_f64().is_some_and(|ratio| ratio > 0.0), "{finding}");
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
