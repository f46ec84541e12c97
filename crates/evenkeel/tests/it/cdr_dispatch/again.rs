//! Records whose key is in their day table already.

use super::Desk;
use crate::cli::{ended, evenkeel};
use serde_json::Value;

fn dispatched(desk: &Desk, code: i32) -> (String, Value) {
    let url = desk.url();
    let words = [&desk.words(&url)[..], &["--json", "--quiet", "--batch", "500"]].concat();
    let (said, told) = ended(&evenkeel(&desk.home, &words), code);
    (format!("{said}{told}"), serde_json::from_str(&said).unwrap_or(Value::Null))
}

#[test]
fn records_whose_key_is_in_their_day_already_stay_in_the_source_and_all_others_go() {
    let desk = Desk::up();
    for key in [
        "PRIMARY KEY (seq),",
        "UNIQUE KEY a (seq, area), KEY b (seq),",
        "UNIQUE KEY a (caller(19)),",
        "PRIMARY KEY (seq, started),",
    ] {
        desk.fresh(key);
        let at = "'2026-08-01' + INTERVAL (seq % 86400) SECOND";
        desk.load(770_000_001, 770_001_000, at);
        desk.dispatch(&[]);
        // Ten of them come again, somewhere in the middle of a day that moves in parts.
        desk.load(770_000_991, 770_001_990, at);
        let (text, done) = dispatched(&desk, 1);
        assert_eq!((desk.count("calls"), desk.count("calls_20260801")), (10, 1_990), "{key}: {text}");
        let day = &done["days"][0];
        assert_eq!((&day["stayed"], &day["records"]), (&10.into(), &990.into()), "{text}");
        assert_eq!(done["audit"]["same"], true, "{key}: {text}");
        assert_eq!(desk.sql("SELECT MIN(seq), MAX(seq) FROM calls"), "770000991\t770001000", "{key}");
        assert!(text.contains("10 records, whose key (") && !text.contains("7700009"), "{key}: {text}");
        desk.audit(key);
        let tables = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME LIKE 'evenkeel_aside%'";
        assert_eq!(desk.sql(tables), "0");
        // And they go once those in the day are gone.
        desk.sql("DELETE FROM calls_20260801 WHERE seq BETWEEN 770000991 AND 770001000");
        dispatched(&desk, 0);
        assert_eq!((desk.count("calls"), desk.count("calls_20260801")), (0, 1_990), "{key}");
    }
}

#[test]
fn a_part_whose_own_records_have_one_key_by_their_day_stays_and_the_parts_around_it_go() {
    let desk = Desk::up();
    desk.fresh("");
    desk.load(1, 1_000, "'2026-08-01 00:00:00'");
    desk.dispatch(&[]);
    desk.sql("ALTER TABLE calls_20260801 ADD UNIQUE KEY (seq)");
    // The day moves in five parts; in the second one a number comes twice, in the last one there is an old one.
    desk.load(1_001, 3_000, "'2026-08-01' + INTERVAL (seq - 1001) * 43 SECOND");
    desk.load(1_500, 1_500, "'2026-08-01' + INTERVAL (seq - 1001) * 43 SECOND");
    desk.load(5, 5, "'2026-08-01 23:30:00'");
    let (text, done) = dispatched(&desk, 1);
    let left = desk.count("calls");
    assert!((2..600).contains(&left), "{left} stay: {text}");
    assert_eq!(done["days"][0]["stayed"], left, "{text}");
    assert!(text.contains("1 record, whose key (seq)") && text.contains("some have one key"), "{text}");
    desk.audit("one key");
}
