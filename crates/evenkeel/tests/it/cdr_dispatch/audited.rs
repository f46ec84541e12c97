//! The audit that ends a dispatch.

use super::Desk;
use crate::cli::ended;

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
    let (told, _) = ended(&child.wait_with_output().expect("an end"), 1);
    assert!(told.contains("audited: 1,999 rows of 2 tables, and 2,000 before: rows were lost"), "{told}");
}
