//! Day tables without transactions: cut at each step, and with records of somebody else.

use super::Desk;
use crate::cli::refused;

const CALLS: &str = "'2026-08-01 10:00:00'";

/// A day table with 500 records, of which `calls` brought all; 400 more are in `calls`.
fn filled(desk: &Desk) {
    desk.fresh("MyISAM", "");
    desk.load(1, 500, CALLS);
    desk.dispatch(&[]);
    desk.load(501, 900, CALLS);
}

/// As a kill leaves it that comes once the day is noted: `more` is what the dispatch did since. FILL is the table that is filled, OLD what
/// the day table was.
fn cut(desk: &Desk, (state, created): (&str, u8), more: &str) {
    let id: u64 = desk.sql("SELECT MAX(id) + 2 FROM evenkeel_dispatches").trim().parse().expect("a number");
    let more =
        more.replace("FILL", &format!("evenkeel_fill_{id}")).replace("OLD", &format!("evenkeel_old_{id}"));
    desk.sql(&format!(
        "RENAME TABLE calls TO evenkeel_taken_calls; CREATE TABLE calls LIKE evenkeel_taken_calls; \
         INSERT INTO evenkeel_dispatches (source, by_column, table_name, way, state, created, records, begun_at) \
         VALUES ('calls', 'started', 'evenkeel_taken_calls', 'take', 'marked', 0, 0, NOW()); \
         INSERT INTO evenkeel_dispatches (take, source, day, table_name, way, state, created, begun_at) \
         VALUES (LAST_INSERT_ID(), 'calls', '2026-08-01', 'calls_20260801', 'insert', '{state}', {created}, NOW()); {more}"
    ));
}

const COLUMNS: &str = "(seq, caller, started) SELECT seq, caller, started FROM";

#[test]
fn a_dispatch_that_was_cut_at_any_step_brings_each_record_once() {
    let desk = Desk::up();
    let made = "CREATE TABLE FILL LIKE calls";
    let (old, taken) = (
        format!("INSERT INTO FILL {COLUMNS} calls_20260801"),
        format!("INSERT INTO FILL {COLUMNS} evenkeel_taken_calls"),
    );
    let (all, new) = (format!("{made}; {old}; {taken}"), format!("{made}; {taken}"));
    for (state, more) in [
        ("begun", String::new()),
        ("begun", format!("{made}; {old} LIMIT 100")),
        ("begun", format!("{all}; DROP TABLE FILL")),
        ("filled", all.clone()),
        ("filled", format!("{all}; RENAME TABLE calls_20260801 TO OLD")),
        ("filled", format!("{all}; RENAME TABLE calls_20260801 TO OLD, FILL TO calls_20260801")),
        // Somebody dropped the table that was filled: what is there is not taken for it.
        ("filled", String::new()),
    ] {
        filled(&desk);
        cut(&desk, (state, 0), &more);
        goes_on(&desk, 900, &format!("{state}, {more}"));
    }
    // And of a day that is new.
    for (state, more) in [
        ("begun", made.to_owned()),
        ("filled", new.clone()),
        ("filled", format!("{new}; RENAME TABLE FILL TO calls_20260801")),
    ] {
        desk.fresh("MyISAM", "");
        desk.load(1, 10, "'2026-07-01 10:00:00'");
        desk.dispatch(&[]);
        desk.load(501, 900, CALLS);
        cut(&desk, (state, 1), &more);
        goes_on(&desk, 400, &format!("new day, {state}, {more}"));
    }
}

/// A rerun brings 400 records, and the day has so many.
fn goes_on(desk: &Desk, records: u64, when: &str) {
    assert_eq!(desk.dispatch(&[])["records"].as_u64(), Some(400), "{when}");
    assert_eq!(desk.count("calls_20260801"), records, "{when}");
    desk.audit(when);
    assert_eq!(desk.sql("SHOW TABLES LIKE 'evenkeel%'").trim(), "evenkeel_dispatches", "{when}");
}

#[test]
fn a_day_table_with_records_of_somebody_else_is_refused_and_nothing_is_taken() {
    let desk = Desk::up();
    filled(&desk);
    desk.sql("INSERT INTO calls_20260801 (seq, caller, started) VALUES (0, '34', '2026-08-01 09:00:00')");
    let told = refused(&desk.home, &desk.words(&desk.url()));
    assert!(told.contains("has 501 records, of which 500 were dispatched to it"), "{told}");
    assert_eq!((desk.count("calls_20260801"), desk.count("calls")), (501, 400));
    desk.sql("DELETE FROM calls_20260801 WHERE seq = 0");
    assert_eq!(desk.dispatch(&[])["records"].as_u64(), Some(400));
    desk.audit("afterwards");
}

#[test]
fn a_column_that_counts_goes_on_from_where_the_taken_table_was() {
    let desk = Desk::up();
    desk.fresh("MyISAM", "id INT NOT NULL AUTO_INCREMENT, PRIMARY KEY (id), ");
    desk.load(1, 500, CALLS);
    assert_eq!(desk.dispatch(&[])["records"].as_u64(), Some(500));
    desk.load(501, 501, CALLS);
    assert_eq!(desk.sql("SELECT id FROM calls"), "501");
    desk.audit("counted");
}
