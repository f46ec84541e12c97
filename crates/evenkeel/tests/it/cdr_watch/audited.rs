//! Each file is held against its table before its records go to the tables of their days.

use super::Site;
use serde_json::Value;
use std::fs;

#[test]
fn what_an_audit_finds_is_named_and_holds_all_records_back_until_somebody_has_looked() {
    let site = Site::up();
    // The server stores one record otherwise than it was sent.
    site.server.create("calls");
    site.server.exec("CREATE TRIGGER t BEFORE INSERT ON calls FOR EACH ROW SET NEW.called = IF(NEW.seq = 500, 'x', NEW.called)");
    site.arrive("a.cdr", "20260801", (1, 1_000), "none");
    let done = site.server.path("done");
    let (lines, _) = site.once(&["--done", &done], 1);
    assert!(lines.contains("0 rejects; the audit found 1 altered"), "{lines}");
    assert!(lines.contains("not dispatched: ") && lines.contains("a.cdr.audit lists what"), "{lines}");
    let note = site.server.path("rejects/a.cdr.audit");
    let named = fs::read_to_string(&note).expect("a note");
    assert!(named.contains("seq=500; called: file '"), "{named}");
    assert!(site.path("a.cdr").exists(), "a file with a finding is not put away");
    // A restart does not go past it, and neither does the next file; that one is loaded.
    site.arrive("b.cdr", "20260801", (1_001, 1_000), "none");
    let (lines, told) = site.once(&["--json"], 1);
    assert!(told.contains("nothing is dispatched: "), "{told}");
    let b: Value = serde_json::from_str(&lines).expect("one line of JSON");
    assert_eq!((&b["rows"], &b["moved"]), (&1_000.into(), &0.into()), "{b}");
    assert_eq!(b["audit"]["found"], serde_json::json!({}), "{b}");
    assert_eq!(site.server.count("calls"), 2_000);
    // Once that was seen to, all goes on.
    site.server.exec("DROP TRIGGER t");
    fs::remove_file(note).expect("a note");
    site.once(&[], 0);
    assert_eq!(site.server.count("calls"), 0);
    site.expect("held and let go", 2_000);
}
