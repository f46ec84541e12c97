//! The figures of a run.

use crate::harness::Figure;

/// All that are shown, in the order of columns.
pub const FIGURES: [Figure; 19] = [
    Figure::plain("seconds", ["time", "s"]),
    Figure::plain("rows_per_s", ["rows", "1/s"]),
    Figure::plain("load_s", ["load", "s"]),
    Figure::plain("index_s", ["indexes", "s"]),
    Figure::plain("convert_s", ["convert", "s"]),
    Figure::plain("dispatch_s", ["dispatch", "s"]),
    Figure::plain("audit_s", ["audit", "s"]),
    Figure::plain("first_day_s", ["first day", "s"]),
    Figure::plain("last_day_s", ["last day", "s"]),
    Figure::plain("seconds_lost", ["lost by the kill", "s"]),
    Figure::plain("recovery_s", ["server's start", "s"]),
    Figure::plain("killed_at_percent", ["killed at", "%"]),
    Figure::plain("sent_twice_percent", ["sent twice", "%"]),
    Figure::plain("mb_per_s", ["files", "MB/s"]),
    Figure::plain("cpu_us_per_row", ["server CPU", "us/row"]),
    Figure::plain("bytes_per_row", ["table", "bytes/row"]),
    Figure::plain("records", ["records", "audited"]),
    Figure::plain("steal_percent", ["steal", "%"]),
    Figure::plain("other_load_percent", ["other CPU", "%"]),
];
