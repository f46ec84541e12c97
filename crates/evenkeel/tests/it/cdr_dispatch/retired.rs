//! Day tables that are dropped by age while a dispatch to others of the same records is cut.

use super::Desk;
use crate::cli::{asked, refused};

/// Drops what is older than a day at that one.
fn retire(desk: &Desk, today: &str) -> (Option<i32>, String) {
    let url = desk.url();
    asked(&desk.home, &["cdr", "retire", &url, "--table", "calls", "--keep", "1d", "--today", today])
}

#[test]
fn a_dispatch_without_transactions_that_was_cut_goes_on_after_its_first_day_was_retired() {
    let desk = Desk::up();
    let url = desk.url();
    desk.fresh("MyISAM", "");
    // The second day cannot be stored, so that the dispatch ends between both.
    desk.sql("CREATE TABLE calls_20260802 LIKE calls; ALTER TABLE calls_20260802 ADD CONSTRAINT never CHECK (seq < 0)");
    desk.load(1, 100, "'2026-08-01' + INTERVAL (seq % 2) DAY");
    let told = refused(&desk.home, &desk.words(&url));
    assert!(told.contains("never"), "{told}");
    assert_eq!(desk.count("calls_20260801"), 50);
    let (_, told) = retire(&desk, "20260803");
    assert!(told.contains("dropped  calls_20260801"), "{told}");
    desk.sql("ALTER TABLE calls_20260802 DROP CONSTRAINT never");
    let done = desk.dispatch(&[]);
    assert_eq!((&done["resumed"], desk.count("calls_20260802")), (&true.into(), 50), "{done}");
    assert!(!desk.sql("SHOW TABLES").contains("evenkeel_taken"));
    assert_eq!(desk.dispatch(&[])["records"], 0);
}

#[test]
fn a_table_in_the_place_of_one_that_was_dispatched_stays_until_it_is_looked_at() {
    let desk = Desk::up();
    desk.fresh("InnoDB", "");
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
    desk.fresh("InnoDB", "");
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
