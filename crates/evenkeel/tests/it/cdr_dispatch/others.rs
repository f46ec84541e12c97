//! Day tables that another source fills too, after a dispatch without transactions was cut.

use super::Desk;
use crate::cli::refused;

const CALLS: &str = "'2026-08-01 10:00:00'";

/// As a kill leaves it that comes once a day's table is noted as one to be made: `done` records are in that table already.
fn cut(desk: &Desk, state: &str, done: u64) {
    let take = "INSERT INTO evenkeel_dispatches (source, by_column, table_name, way, state, created, records, begun_at) \
                VALUES ('calls', 'started', 'evenkeel_taken_calls', 'take', 'copying', 0, 0, NOW())";
    let day = format!(
        "INSERT INTO evenkeel_dispatches (take, source, day, table_name, way, state, created, begun_at) \
         VALUES (LAST_INSERT_ID(), 'calls', '2026-08-01', 'calls_20260801', 'insert', '{state}', 1, NOW())"
    );
    let some = format!(
        "INSERT INTO calls_20260801 (seq, caller, started) SELECT seq, caller, started FROM evenkeel_taken_calls ORDER BY seq LIMIT {done}"
    );
    desk.sql(&format!(
        "RENAME TABLE calls TO evenkeel_taken_calls; CREATE TABLE calls LIKE evenkeel_taken_calls; {take}; {day}; {some}"
    ));
}

/// A journal, and a day's table with 500 records of somebody else.
fn filled(desk: &Desk) {
    desk.fresh("MyISAM", "");
    desk.load(1, 500, CALLS);
    desk.dispatch("insert", &[]);
    desk.load(501, 900, CALLS);
}

#[test]
fn records_that_came_into_a_table_that_was_to_be_made_stay_in_it() {
    let desk = Desk::up();
    for state in ["begun", "copying"] {
        filled(&desk);
        cut(&desk, state, 0);
        let done = desk.dispatch("insert", &[]);
        assert_eq!(done["records"].as_u64(), Some(400), "{state}: {done}");
        assert_eq!(desk.count("calls_20260801"), 900, "{state}");
        desk.audit(state);
    }
}

#[test]
fn a_table_with_records_of_both_is_left_as_it_is() {
    let desk = Desk::up();
    filled(&desk);
    cut(&desk, "copying", 100);
    let told = refused(&desk.home, &desk.words(&desk.url(), "insert"));
    assert!(told.contains("of its 600 records 100 are like those of a dispatch that was cut"), "{told}");
    assert_eq!((desk.count("calls_20260801"), desk.count("evenkeel_taken_calls")), (600, 400));
    // Whoever takes out what was put in twice gets all of it.
    desk.sql("DELETE FROM calls_20260801 WHERE seq > 500");
    assert_eq!(desk.dispatch("insert", &[])["records"].as_u64(), Some(400));
    desk.audit("afterwards");
}

#[test]
fn a_table_that_has_a_part_of_the_records_alone_is_filled_anew() {
    let desk = Desk::up();
    for state in ["begun", "copying"] {
        desk.fresh("MyISAM", "");
        desk.load(1, 10, "'2026-07-01 10:00:00'");
        desk.dispatch("insert", &[]);
        desk.load(501, 900, CALLS);
        desk.sql("CREATE TABLE calls_20260801 LIKE calls");
        cut(&desk, state, 100);
        assert_eq!(desk.dispatch("insert", &[])["records"].as_u64(), Some(400), "{state}");
        assert_eq!(desk.count("calls_20260801"), 400, "{state}");
        desk.audit(state);
    }
}

#[test]
fn a_column_that_counts_goes_on_from_where_the_taken_table_stood() {
    let desk = Desk::up();
    desk.fresh("MyISAM", "id INT NOT NULL AUTO_INCREMENT, PRIMARY KEY (id), ");
    desk.load(1, 10, "'2026-07-01 10:00:00'");
    desk.dispatch("insert", &[]);
    desk.load(11, 500, CALLS);
    // The new source was made before the last numbers were given.
    let take = "INSERT INTO evenkeel_dispatches (source, by_column, table_name, way, state, created, records, begun_at) \
                VALUES ('calls', 'started', 'evenkeel_taken_calls', 'take', 'begun', 0, 0, NOW())";
    desk.sql(&format!(
        "RENAME TABLE calls TO evenkeel_taken_calls; CREATE TABLE calls LIKE evenkeel_taken_calls; {take}"
    ));
    assert_eq!(desk.dispatch("insert", &[])["records"].as_u64(), Some(490));
    desk.load(501, 501, CALLS);
    assert_eq!(desk.sql("SELECT id FROM calls"), "501");
    desk.audit("counted");
}

#[test]
fn records_of_another_source_that_are_like_ours_are_never_emptied() {
    let desk = Desk::up();
    filled(&desk);
    // What the other source brought is, record for record, what comes in.
    desk.sql("TRUNCATE TABLE calls_20260801; UPDATE evenkeel_dispatches SET records = 0");
    cut(&desk, "copying", 400);
    let other = "INSERT INTO evenkeel_dispatches (source, day, table_name, way, state, created, records, begun_at) \
                 VALUES ('others', '2026-08-01', 'calls_20260801', 'insert', 'done', 0, 400, NOW())";
    desk.sql(other);
    let told = refused(&desk.home, &desk.words(&desk.url(), "insert"));
    assert!(told.contains("of its 400 records 400 are like") && told.contains("nobody can tell"), "{told}");
    // Where nothing of ours can be in there yet, they are somebody else's for sure.
    desk.sql("UPDATE evenkeel_dispatches SET state = 'begun', checksum_before = 'untouched' WHERE state = 'copying' AND way = 'insert'");
    assert_eq!(desk.dispatch("insert", &[])["records"].as_u64(), Some(400));
    assert_eq!(desk.count("calls_20260801"), 800);
}
