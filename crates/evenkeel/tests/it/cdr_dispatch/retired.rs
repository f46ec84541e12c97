//! Day tables that are dropped by age while a dispatch to others of the same records is cut.

use super::Desk;
use crate::cli::{evenkeel, refused};

#[test]
fn a_dispatch_without_transactions_that_was_cut_goes_on_after_its_first_day_was_retired() {
    let desk = Desk::up();
    let url = desk.url();
    desk.fresh("MyISAM", "");
    // The second day cannot be stored, so that the dispatch ends between both.
    desk.sql("CREATE TABLE calls_20260802 LIKE calls; ALTER TABLE calls_20260802 ADD CONSTRAINT never CHECK (seq < 0)");
    desk.load(1, 100, "'2026-08-01' + INTERVAL (seq % 2) DAY");
    let told = refused(&desk.home, &desk.words(&url, "insert"));
    assert!(told.contains("never"), "{told}");
    assert_eq!(desk.count("calls_20260801"), 50);
    let retire = ["cdr", "retire", &url, "--table", "calls", "--keep", "1d", "--today", "20260803"];
    let output = evenkeel(&desk.home, &retire);
    assert!(String::from_utf8_lossy(&output.stdout).contains("dropped  calls_20260801"), "{output:?}");
    desk.sql("ALTER TABLE calls_20260802 DROP CONSTRAINT never");
    let done = desk.dispatch("insert", &[]);
    assert_eq!((&done["resumed"], desk.count("calls_20260802")), (&true.into(), 50), "{done}");
    assert!(!desk.sql("SHOW TABLES").contains("evenkeel_taken"));
    assert_eq!(desk.dispatch("insert", &[])["records"], 0);
}
