//! The audit that ends a dispatch.

use super::Desk;
use crate::cli::{ended, piped, text};
use crate::patience::eventually;
use evenkeel_site::server::Control;

#[test]
fn a_row_that_is_gone_after_a_dispatch_and_was_there_before_is_a_finding() {
    let desk = Desk::up();
    desk.fresh("InnoDB", "PRIMARY KEY (seq),");
    desk.load(1, 1_000, "'2026-08-01 12:00:00'");
    desk.dispatch(&[]);
    desk.load(1_001, 2_000, "'2026-08-01 12:00:00'");
    // The source cannot be written to for a while, so that the row goes between both sums.
    let (child, holder) = desk.waiting();
    desk.sql("DELETE FROM calls_20260801 WHERE seq = 5");
    drop(holder);
    let (told, _) = ended(&child.wait_with_output().expect("an end"), 1);
    assert!(told.contains("audited: 1,999 rows of 2 tables, and 2,000 before: rows were lost"), "{told}");
}

#[test]
fn a_row_that_somebody_writes_to_a_day_table_between_copy_and_rename_is_kept_and_the_error_says_where() {
    let desk = Desk::up();
    desk.fresh("MyISAM", "");
    desk.load(1, 1_000, "'2026-08-01 12:00:00'");
    desk.dispatch(&[]);
    desk.load(1_001, 2_000, "'2026-08-01 12:00:00'");
    // An open transaction that has written to the day table holds up its rename, and may write on.
    let mut writer = Control::connect(&desk.server.sandbox.target()).expect("a connection");
    for sql in ["USE cdr", "BEGIN", "UPDATE calls_20260801 SET seq = 0 WHERE seq = 7000"] {
        writer.exec(sql).expect("a writer");
    }
    let child = piped(&desk.home, &desk.words(&desk.url()));
    let renames = "INFO LIKE 'RENAME TABLE `calls_2%' AND STATE LIKE '%lock%'";
    let renames = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE {renames}");
    eventually("a rename that waits", || desk.sql(&renames) == "1");
    let row = "INSERT INTO calls_20260801 (seq, caller, started) VALUES (5001, '34', '2026-08-01 13:00:00')";
    for sql in [row, "COMMIT"] {
        writer.exec(sql).expect("a writer");
    }
    let (_, told) = text(&child.wait_with_output().expect("an end"));
    let old = desk.sql("SHOW TABLES LIKE 'evenkeel_old%'");
    assert!(told.contains(&format!("what it was is kept as {old}")), "{told}");
    assert_eq!(desk.sql(&format!("SELECT COUNT(*), MAX(seq) FROM {old}")), "1001\t5001", "{told}");
    assert_eq!(desk.count("calls_20260801"), 2_000, "{told}");
}
