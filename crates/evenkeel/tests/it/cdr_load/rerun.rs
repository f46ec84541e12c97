//! What a rerun still has to do where the load before has left nothing to load.

use super::server::{Server, ok};
use crate::cli::evenkeel;
use serde_json::Value;

#[test]
fn a_load_that_ended_before_its_audit_is_audited_by_a_rerun_and_not_again() {
    let server = Server::up(&[]);
    for engine in ["innodb", "myisam"] {
        server.generate("calls", 1_000, "all");
        // As a kill between its last commit and its audit leaves it.
        server.load(engine, &["calls"], &["--no-audit", "--engine", engine]);
        server.control().exec(&format!("DELETE FROM {engine} WHERE seq = 7")).expect("a row");
        let words = server.words(engine, &["calls"], &["--json", "--quiet"]);
        let output = evenkeel(server.home(), &super::server::borrowed(&words));
        let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!((output.status.code(), &found["audit"]["found"]), (Some(1), &1.into()), "{found}");
        assert_eq!(found["tally"]["records"], 0, "{engine}");
        let again = server.json(engine, &["calls"], &[]);
        assert_eq!(again["audit"], Value::Null, "{engine}: that has been told");
    }
}

#[test]
fn a_table_that_is_spelled_otherwise_is_the_same_one_where_the_server_says_so() {
    let server = Server::up(&["lower_case_table_names=1"]);
    server.generate("calls", 1_000, "none");
    let keyless = server.path("keyless.toml");
    let layout = std::fs::read_to_string(server.layout()).expect("a layout").replace("key = [", "# key = [");
    std::fs::write(&keyless, layout).expect("a layout");
    let load = |table: &str| {
        let mut words = server.words(table, &["calls"], &["--json"]);
        let place = words.iter().position(|word| word == "--layout").expect("a flag") + 1;
        words[place].clone_from(&keyless);
        let found = ok(&evenkeel(server.home(), &super::server::borrowed(&words)));
        serde_json::from_str::<Value>(&found).expect("JSON")["tally"]["records"].clone()
    };
    assert_eq!(load("calls"), 1_000);
    assert_eq!((load("Calls"), server.count("calls")), (0.into(), 1_000));
    let words = ["cdr", "dispatch", "sandbox:a/cdr", "--table", "CALLS", "--by", "start"];
    ok(&evenkeel(server.home(), &words));
    assert_eq!((load("calls"), server.count("calls"), server.count("calls_20260801")), (0.into(), 0, 1_000));
    let words = ["cdr", "retire", "sandbox:a/cdr", "--table", "Calls", "--keep", "1d", "--today", "20260901"];
    assert!(ok(&evenkeel(server.home(), &words)).contains("1 table dropped"));
}
