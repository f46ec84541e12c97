//! `evenkeel explain` against a server: what it executes leaves nothing behind, and what would last it does not execute.

use crate::guard::server::Server;
use crate::sandbox::done;
use serde_json::Value;

const OBJECTS: &str = "\
CREATE TABLE shop.seen (id INT);
CREATE SEQUENCE shop.sq;
DELIMITER //
CREATE FUNCTION shop.sees() RETURNS INT BEGIN INSERT INTO seen VALUES (1); RETURN 1; END//";

const STATEMENTS: [(&str, &str); 6] = [
    ("plain", "SELECT name FROM item WHERE id = 1"),
    ("function", "SELECT sees()"),
    ("derived", "SELECT a FROM (SELECT sees() AS a) AS d"),
    ("sequence", "SELECT NEXTVAL(sq)"),
    ("sleep", "SELECT SLEEP(5)"),
    ("lock", "SELECT stock FROM item WHERE id = 1 FOR UPDATE"),
];

#[test]
fn explain_leaves_nothing_behind_and_says_what_it_did_not_execute() {
    let server = Server::up(&[]);
    server.sql(OBJECTS);
    let file = server.file("written");
    let into = format!("SELECT name FROM item INTO OUTFILE '{}'", file.display());
    let workload = server.workload("acts", &[&STATEMENTS[..], &[("file", into.as_str())]].concat());
    let explain = ["explain", &server.url(), "--workload", &workload];
    let said = done(&server.file("home"), &[&explain[..], &["--json"]].concat());
    assert_eq!(server.sql("SELECT COUNT(*) FROM shop.seen"), "0");
    assert_eq!(server.sql("SELECT NEXTVAL(shop.sq)"), "1");
    assert!(!file.exists());

    let json: Vec<Value> = serde_json::from_str(&said).expect("JSON");
    for (name, why) in [
        ("function", "it writes, or calls something that writes"),
        ("derived", "it writes, or calls something that writes"),
        ("sequence", "it has NEXTVAL or SETVAL, which writes"),
        ("file", "it has INTO OUTFILE, which writes"),
        ("sleep", "it has SLEEP(), which waits"),
        ("lock", "it has FOR UPDATE, which locks rows"),
    ] {
        let plan = json.iter().find(|plan| plan["statement"] == name).expect("each statement");
        assert!(plan["not_made"].as_str().is_some_and(|text| text.starts_with(why)), "{name}: {plan}");
        assert_eq!(plan["work_share_percent"], Value::Null, "{name}: {plan}");
    }
    let plain = json.iter().find(|plan| plan["statement"] == "plain").expect("each statement");
    assert_eq!((&plain["not_made"], &plain["work_share_percent"]), (&Value::Null, &100.0.into()));

    let text = done(&server.file("home"), &explain);
    assert!(text.contains("not measured: it has SLEEP(), which waits"), "{text}");
}
