//! The audit that ends a dispatch.

use super::{DAY, Desk};
use crate::cli::{piped, text};
use crate::patience::eventually;

#[test]
fn a_dispatch_ends_with_an_audit_unless_it_is_left_out() {
    let desk = Desk::up();
    for engine in ["InnoDB", "MyISAM"] {
        desk.fresh(engine, "");
        desk.load(1, 2_000, DAY);
        let audit = &desk.dispatch(&[])["audit"];
        assert_eq!((&audit["rows"], &audit["before"]), (&2_000.into(), &2_000.into()), "{engine}: {audit}");
        assert_eq!(audit["same"], true, "{engine}: {audit}");
        // Late records come to tables that have some.
        desk.load(2_001, 3_000, DAY);
        let audit = &desk.dispatch(&[])["audit"];
        assert_eq!(audit["same"], true, "{engine}: {audit}");
        assert_eq!(desk.dispatch(&["--no-audit"])["audit"], serde_json::Value::Null);
    }
}

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
    let output = child.wait_with_output().expect("an end");
    let (told, _) = text(&output);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(told.contains("audited: 1,999 rows of 2 tables, and 2,000 before: rows were lost"), "{told}");
}

#[test]
fn a_row_that_somebody_writes_into_a_day_table_while_it_is_filled_anew_is_not_lost() {
    let desk = Desk::up();
    desk.fresh("MyISAM", "");
    desk.load(1, 1_000, "'2026-08-01 12:00:00'");
    desk.dispatch(&[]);
    desk.load(1_001, 2_000, "'2026-08-01 12:00:00'");
    // Somebody reads the day table, so that it cannot be renamed before the row is in.
    let holder = desk.sql_in_background("LOCK TABLES calls_20260801 READ LOCAL; DO SLEEP(30)");
    let waits = |what: &str| {
        let sql = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE {what}");
        desk.sql(&sql) == "1"
    };
    eventually("a lock", || waits("INFO LIKE 'DO SLEEP%'"));
    let child = piped(&desk.home, &desk.words(&desk.url()));
    eventually("a rename that waits", || waits("INFO LIKE 'RENAME TABLE `calls_2%' AND STATE LIKE '%lock%'"));
    let row = "INSERT INTO calls_20260801 (seq, caller, started) VALUES (5001, '34', '2026-08-01 13:00:00')";
    let writer = desk.sql_in_background(row);
    eventually("a writer that waits", || waits("INFO LIKE 'INSERT INTO calls_2%'"));
    drop(holder);
    let (_, told) = text(&child.wait_with_output().expect("an end"));
    eventually("the row", || !waits("INFO LIKE 'INSERT INTO calls_2%'"));
    drop(writer);
    let found = desk.sql("SELECT GROUP_CONCAT(TABLE_NAME) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'cdr' AND TABLE_NAME LIKE 'evenkeel_old%'");
    let old = if found == "NULL" { 0 } else { desk.count(&found) };
    // Either the row came after the rename, or it is in the table that stays, and the error names it.
    let is_in = desk.sql("SELECT COUNT(*) FROM calls_20260801 WHERE seq = 5001") == "1";
    assert!(is_in || (old == 1_001 && told.contains("somebody wrote to it meanwhile")), "{told}");
}
