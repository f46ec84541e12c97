//! Day tables that are dropped by age, and those that stay.

use super::Desk;
use crate::cli::asked;

/// Drops what is older than a day at that one.
fn retire(desk: &Desk, today: &str) -> (Option<i32>, String) {
    let url = desk.url();
    asked(&desk.home, &["cdr", "retire", &url, "--table", "calls", "--keep", "1d", "--today", today])
}

#[test]
fn a_table_in_the_place_of_one_that_was_dispatched_stays_until_it_is_looked_at() {
    let desk = Desk::up();
    desk.fresh("");
    desk.load(1, 40, "'2026-06-01' + INTERVAL (seq % 4) DAY");
    desk.dispatch(&[]);
    // One day is replaced by another table of its name, a record of another day is deleted, and a third gets a late record.
    desk.sql("DROP TABLE calls_20260601; CREATE TABLE calls_20260601 LIKE calls; DELETE FROM calls_20260602 LIMIT 1");
    desk.load(41, 41, "'2026-06-03'");
    desk.dispatch(&[]);
    let (code, told) = retire(&desk, "20260605");
    assert_eq!(code, Some(1), "{told}");
    for line in [
        "refused  calls_20260601  it has 0 records, and 10 were dispatched to it",
        "refused  calls_20260602  it has 9 records, and 10 were",
        "dropped  calls_20260603  11 records",
    ] {
        assert!(told.contains(line), "{told}");
    }
    desk.sql("DROP TABLE calls_20260601, calls_20260602");
    assert_eq!(retire(&desk, "20260605").0, Some(0));
}

#[test]
fn a_table_that_was_dropped_by_hand_and_made_anew_by_a_late_record_goes_by_age_as_any_other() {
    let desk = Desk::up();
    desk.fresh("");
    desk.load(1, 10, "'2026-06-01'");
    desk.dispatch(&[]);
    desk.sql("DROP TABLE calls_20260601");
    desk.load(11, 11, "'2026-06-01'");
    desk.dispatch(&[]);
    let (code, told) = retire(&desk, "20260605");
    assert!(code == Some(0) && told.contains("dropped  calls_20260601  1 record"), "{told}");
    // Nothing of it is left that would speak for another table of this name.
    let states = "SELECT DISTINCT state FROM evenkeel_dispatches WHERE table_name = 'calls_20260601'";
    assert_eq!(desk.sql(states).trim(), "retired");
}
