//! Tables that are there already: TIMESTAMP columns and triggers.

use super::Server;
use crate::sandbox::done;
use std::fs;

const LAYOUT: &str = "key = ['id']\nzone = 'Europe/Berlin'\n[delimited]\n[[field]]\nname = 'id'\ntype = 'integer'\nwidth = 9\n\
    [[field]]\nname = 'at'\ntype = 'time'\ntime = 'epoch'\n[[field]]\nname = 'clock'\ntype = 'time'\ntime = 'epoch'\n";

#[test]
fn a_timestamp_gets_the_instant_and_the_day_stays_that_of_the_zone() {
    let server = Server::up(&["default_time_zone=+09:00"]);
    server.exec("CREATE TABLE calls (id BIGINT NOT NULL PRIMARY KEY, at TIMESTAMP NULL, clock DATETIME NULL) ENGINE=InnoDB");
    // Twice 02:30 in Berlin; half past midnight there, which is the day before in UTC; two instants beyond.
    let instants = [1_792_888_200_u64, 1_792_891_800, 1_784_845_800, 4_294_967_296, 9_999_999_999];
    let lines = (1..).zip(instants).map(|(id, at)| format!("{id},{at},{at}\n")).collect::<String>();
    fs::write(server.path("calls"), lines).expect("a file");
    fs::write(server.layout(), LAYOUT.replace("zone = 'Europe/Berlin'\n", "")).expect("a layout");
    let told = server.refused("calls", &["calls"], &[]);
    assert!(told.contains("has to name the time zone") && told.contains("zone = \"UTC\""), "{told}");
    fs::write(server.layout(), LAYOUT).expect("a layout");
    let told = server.load("calls", &["calls"], &["--max-rejects", "2"]);
    assert!(told.contains("5 records = 3 stored + 2 rejected: each once"), "{told}");
    assert!(told.contains("at: before or after what a TIMESTAMP column holds"), "{told}");
    done(server.home(), &["cdr", "dispatch", "sandbox:a/cdr", "--table", "calls", "--by", "clock"]);
    let of = |day: &str| {
        server.value(&format!("SELECT GROUP_CONCAT(UNIX_TIMESTAMP(at) ORDER BY id) FROM calls_{day}"))
    };
    assert_eq!((of("20261025").as_str(), of("20260724").as_str()), ("1792888200,1792891800", "1784845800"));
    let words = [
        "cdr",
        "audit",
        "sandbox:a/cdr",
        &server.path("calls"),
        "--layout",
        &server.layout(),
        "--table",
        "calls",
    ];
    assert!(done(server.home(), &words).contains("3 stored + 2 rejected"));
}

#[test]
fn a_trigger_is_named_before_and_the_record_that_it_refuses_is_named_by_its_place() {
    let server = Server::up(&[]);
    server.generate("calls", 3_000, "none");
    for (table, trigger) in [
        ("sets", "BEFORE INSERT ON sets FOR EACH ROW SET NEW.called = UPPER(NEW.called)"),
        ("logs", "AFTER INSERT ON logs FOR EACH ROW SET @rows = @rows + 1"),
        (
            "signals",
            "AFTER INSERT ON signals FOR EACH ROW IF NEW.seq = 777 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not this one'; END IF",
        ),
    ] {
        server.create(table);
        server.exec(&format!("CREATE TRIGGER {table}_now {trigger}"));
    }
    let told = server.refused("sets", &["calls"], &[]);
    assert!(
        told.contains("trigger sets_now overwrites sets.called") && told.contains("--no-audit"),
        "{told}"
    );
    assert_eq!(server.count("sets"), 0);
    server.load("sets", &["calls"], &["--no-audit"]);
    let (_, told) = server.asked(&server.words("logs", &["calls"], &[]));
    assert!(
        told.contains("trigger logs_now fires for each row that is loaded into logs")
            && told.contains("each once"),
        "{told}"
    );
    let told = server.refused("signals", &["calls"], &[]);
    assert!(told.contains("calls:155200: a trigger of the table refuses it: not this one"), "{told}");
    assert_eq!(server.count("signals"), 0);
    let found = server.json("signals", &["calls"], &["--warnings", "reject"]);
    assert_eq!((&found["tally"]["rejects"], &found["audit"]["found"]), (&1.into(), &0.into()));
}
