//! The audit that ends a dispatch.

use super::{DAY, Desk};
use crate::cli::evenkeel;

#[test]
fn every_way_ends_with_an_audit_unless_it_is_left_out() {
    let desk = Desk::up();
    for engine in ["InnoDB", "MyISAM"] {
        for way in ["insert", "procedure", "exchange"] {
            desk.fresh(engine, "");
            desk.load(1, 2_000, DAY);
            let audit = &desk.dispatch(way, &[])["audit"];
            assert_eq!(
                (&audit["rows"], &audit["before"], &audit["same"]),
                (&2_000.into(), &2_000.into(), &true.into()),
                "{engine} {way}: {audit}"
            );
            // Late records come to tables that have some.
            desk.load(2_001, 3_000, DAY);
            let audit = &desk.dispatch(way, &[])["audit"];
            assert_eq!(audit["same"], true, "{engine} {way}: {audit}");
            assert_eq!(desk.dispatch(way, &["--no-audit"])["audit"], serde_json::Value::Null);
        }
    }
    desk.load(3_001, 3_100, DAY);
    let url = desk.url();
    let output = evenkeel(&desk.home, &desk.words(&url, "insert"));
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(told.contains("audited: 103 rows, compared day by day with what was taken"), "{told}");
}

#[test]
fn a_row_that_is_gone_after_a_dispatch_and_was_there_before_is_a_finding() {
    let desk = Desk::up();
    desk.fresh("InnoDB", "PRIMARY KEY (seq),");
    desk.load(1, 1_000, "'2026-08-01 12:00:00'");
    desk.dispatch("insert", &[]);
    desk.load(1_001, 2_000, "'2026-08-01 12:00:00'");
    // The source cannot be written to for a while, so that the row goes between both sums.
    let (child, holder) = desk.waiting("insert");
    desk.sql("DELETE FROM calls_20260801 WHERE seq = 5");
    drop(holder);
    let output = child.wait_with_output().expect("an end");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{told}{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("audited: 1,999 rows of 2 tables, and 2,000 before: rows were lost"), "{told}");
}

#[test]
fn a_row_that_changes_while_partitions_become_tables_without_transactions_is_a_finding() {
    let desk = Desk::up();
    desk.fresh("MyISAM", "");
    desk.load(1, 1_000, "'2026-07-31 12:00:00'");
    desk.dispatch("exchange", &[]);
    desk.load(1_001, 2_000, "'2026-07-31 12:00:00' + INTERVAL (seq % 2) DAY");
    // The source cannot be altered for a while, so that the row changes between both sums.
    let (child, holder) = desk.waiting("exchange");
    desk.sql("UPDATE calls_20260731 SET caller = '0' WHERE seq = 5");
    drop(holder);
    let output = child.wait_with_output().expect("an end");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{told}{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        told.contains("audited: 2,000 rows of 3 tables, as many as before, and some are others"),
        "{told}"
    );
}
