//! What others do with a table while it is built anew, and what becomes of it when that ends early.

use super::Shop;
use crate::cli::{asked, piped, text, unread};
use crate::guard::proxy::signal;
use crate::patience::eventually;
use evenkeel_core::random::{Random, Seed};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Builds the table anew.
const FRESH: [&str; 5] = ["relayout", "sandbox:a/shop", "--tables", "item", "--fresh"];

/// Writes rows into the table as long as somebody does something else, and says how many it wrote for sure.
fn written_beside(shop: &Shop, work: impl FnOnce()) -> u64 {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let (mut control, mut written) = (shop.control(), 0);
            while !over.load(Ordering::Relaxed) {
                control.exec("INSERT INTO item (name, price) VALUES (MD5(RAND()), 7)").expect("a row");
                written += 1;
                std::thread::sleep(Duration::from_millis(2));
            }
            written
        });
        work();
        over.store(true, Ordering::Relaxed);
        writer.join().expect("a number of rows")
    })
}

#[test]
fn rows_that_are_written_meanwhile_are_neither_lost_nor_doubled() {
    let shop = Shop::up();
    shop.shuffled("item", "");
    /// Whatever happens, nobody goes on writing.
    struct Over<'a>(&'a AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let (over, written) = (AtomicBool::new(false), AtomicU64::new(0));
    let before: u64 = shop.value("SELECT COUNT(*) FROM item").parse().expect("a number");
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut control = shop.control();
                while !over.load(Ordering::Relaxed) {
                    control.exec("INSERT INTO item (name, price) VALUES (MD5(RAND()), 7)").expect("a row");
                    written.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let _over = Over(&over);
        for how in [&["--fresh", "--keep-old"][..], &[]] {
            let begun = written.load(Ordering::Relaxed);
            shop.relayout(&[&["--tables", "item"], how].concat());
            eventually("rows afterwards", || written.load(Ordering::Relaxed) > begun + 10);
        }
    });
    let rows: u64 = shop.value("SELECT COUNT(*) FROM item").parse().expect("a number");
    assert_eq!(rows, before + written.load(Ordering::Relaxed));
    let lost = "SELECT COUNT(*) FROM item_evenkeel_before o LEFT JOIN item USING (id) WHERE item.id IS NULL";
    assert_eq!(shop.value(lost), "0");
    let (code, said) = asked(shop.home(), &FRESH);
    assert!(code == Some(1) && said.contains("the old table is kept as item_evenkeel_before"), "{said}");
}

#[test]
fn a_relayout_that_is_killed_or_interrupted_loses_no_row_and_begins_again() {
    let shop = Shop::up();
    shop.shuffled("item", "");
    let number = |sql: &str| -> u64 { shop.value(sql).parse().expect("a number") };
    let exists = |table: &str| {
        number(&format!("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME = '{table}'")) == 1
    };
    let mut rows = number("SELECT COUNT(*) FROM item");
    let mut random = Random::new(Seed(29));
    for turn in 0..10 {
        let name = ["-INT", "-KILL"][turn % 2];
        if name == "-INT" {
            // What a kill left would be taken for a copy that is begun; that of the last kill is taken away below.
            shop.exec("DROP TABLE IF EXISTS item_evenkeel_relayout");
        }
        rows += written_beside(&shop, || {
            let mut child = unread(shop.home(), &FRESH);
            eventually("a copy", || exists("item_evenkeel_relayout"));
            // At any moment from here to its end, copying, sorting, verifying, swapping or dropping.
            std::thread::sleep(Duration::from_secs_f64(0.5 * random.unit()));
            signal(name, child.id() as i32);
            child.wait().expect("an end");
        });
        eventually("the end of its statements", || {
            shop.value("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '%item_evenkeel_relayout%' AND INFO NOT LIKE '%PROCESSLIST%'") == "0"
        });
        assert!(name == "-KILL" || !exists("item_evenkeel_relayout"), "Ctrl-C left the copy");
        // A kill in the instant of the swap may leave a row in the old table alone, which is there to be looked at.
        let all = match exists("item_evenkeel_before") {
            true => "SELECT COUNT(*) FROM (SELECT id FROM item UNION SELECT id FROM item_evenkeel_before) a",
            false => "SELECT COUNT(*) FROM item",
        };
        assert_eq!(number(all), rows, "{name}");
        if exists("item_evenkeel_before") {
            shop.exec(
                "INSERT IGNORE INTO item (id, name, price) SELECT id, name, price FROM item_evenkeel_before",
            );
            shop.exec("DROP TABLE item_evenkeel_before");
        }
    }
    let sum = shop.sum("item");
    let all = shop.relayout(&["--tables", "item", "--fresh"]);
    assert!(all[0]["done"]["verified_rows"].is_u64(), "{all:?}");
    assert_eq!(shop.sum("item"), sum);
    assert!(!exists("item_evenkeel_before") && !exists("item_evenkeel_relayout"));
}

/// A change of the table, what is said of it, and where the server tells of it.
fn change(number: u32) -> (String, &'static str, String) {
    match number % 2 {
        0 => (
            format!("ALTER TABLE item ADD COLUMN more{number} INT"),
            "was altered",
            format!("information_schema.COLUMNS WHERE COLUMN_NAME = 'more{number}' AND TABLE_NAME"),
        ),
        _ => (
            format!("CREATE TRIGGER more{number} BEFORE INSERT ON item FOR EACH ROW SET @more = 1"),
            "got trigger",
            format!("information_schema.TRIGGERS WHERE TRIGGER_NAME = 'more{number}' AND EVENT_OBJECT_TABLE"),
        ),
    }
}

#[test]
fn a_table_that_somebody_changes_meanwhile_is_not_dropped() {
    let shop = Shop::up();
    shop.shuffled("item", "");
    let count = |sql: &str| shop.value(&format!("SELECT COUNT(*) FROM {sql}"));
    let had = shop.sum("item");
    // Whoever waits to alter the table before we wait to swap it comes first: what he did must not go with the old table.
    let mut between = 0;
    for number in 0..10 {
        let child = piped(shop.home(), &FRESH);
        eventually("a copy", || {
            count("information_schema.TABLES WHERE TABLE_NAME = 'item_evenkeel_relayout'") == "1"
        });
        let (sql, what, place) = change(number);
        shop.exec(&sql);
        let (_, told) = text(&child.wait_with_output().expect("an end"));
        let is_there = |table: &str| count(&format!("{place} = '{table}'")) == "1";
        assert!(is_there("item") || is_there("item_evenkeel_before"), "{told}");
        if !is_there("item") {
            assert!(told.contains(what) && told.contains("drop neither"), "{told}");
            shop.exec("DROP TABLE item");
            shop.exec("RENAME TABLE item_evenkeel_before TO item");
            between += 1;
        }
        shop.exec(&format!("DROP TRIGGER IF EXISTS more{number}"));
    }
    assert!(between > 0, "nobody came between, so that nothing was tried");
    assert_eq!(shop.sum("item"), had, "columns came, and no row went");
}

#[test]
fn two_relayouts_of_a_table_at_once_do_no_harm() {
    let shop = Shop::up();
    shop.shuffled("item", "");
    let sum = shop.sum("item");
    let both = [piped(shop.home(), &FRESH), piped(shop.home(), &FRESH)];
    let both = both.map(|child| child.wait_with_output().expect("an end"));
    assert!(both.iter().any(|output| output.status.success()), "{both:?}");
    for output in both.iter().filter(|output| !output.status.success()) {
        let (_, told) = text(output);
        assert!(told.contains("another client is rebuilding table"), "{told}");
    }
    assert_eq!(shop.sum("item"), sum);
}

#[test]
fn a_look_at_a_table_that_a_transaction_holds_keeps_nobody_waiting_for_long() {
    let shop = Shop::up();
    shop.shuffled("item", "");
    let mut open = shop.control();
    open.exec("BEGIN").expect("a transaction");
    open.exec("INSERT INTO item (name) VALUES ('open')").expect("a row");
    let is_over = AtomicBool::new(false);
    let (_, told) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut control = shop.control();
            // A writer behind a look that waits for the transaction without end would end by this.
            control.exec("SET SESSION lock_wait_timeout = 20").expect("an answer");
            while !is_over.load(Ordering::Relaxed) {
                control.exec("INSERT INTO item (name) VALUES ('meanwhile')").expect("no long wait");
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let dry = asked(shop.home(), &["relayout", "sandbox:a/shop", "--tables", "item", "--dry-run"]);
        is_over.store(true, Ordering::Relaxed);
        writer.join().expect("a writer");
        dry
    });
    assert!(told.contains("a transaction of another client uses it"), "{told}");
}
