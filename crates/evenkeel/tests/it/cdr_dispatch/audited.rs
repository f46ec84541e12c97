//! The audit that ends a dispatch.

use super::{DAY, Desk};
use crate::cli::text;

#[test]
fn a_dispatch_ends_with_an_audit_unless_it_is_left_out() {
    let desk = Desk::up();
    desk.fresh("");
    desk.load(1, 2_000, DAY);
    let audit = &desk.dispatch(&[])["audit"];
    assert_eq!((&audit["rows"], &audit["before"]), (&2_000.into(), &2_000.into()), "{audit}");
    assert_eq!(audit["same"], true, "{audit}");
    // Late records come to tables that have some.
    desk.load(2_001, 3_000, DAY);
    let audit = &desk.dispatch(&[])["audit"];
    assert_eq!(audit["same"], true, "{audit}");
    assert_eq!(desk.dispatch(&["--no-audit"])["audit"], serde_json::Value::Null);
}

#[test]
fn a_row_that_is_gone_after_a_dispatch_and_was_there_before_is_a_finding() {
    let desk = Desk::up();
    desk.fresh("PRIMARY KEY (seq),");
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
