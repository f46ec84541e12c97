//! What others do with a table while it is built anew, and what becomes of it when that ends early.

use super::Shop;
use crate::cli::{asked, unread};
use crate::guard::proxy::signal;
use crate::patience::eventually;
use evenkeel_core::random::{Random, Seed};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Builds the table anew.
const RELAYOUT: [&str; 4] = ["relayout", "sandbox:a/shop", "--tables", "item"];

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
        let begun = written.load(Ordering::Relaxed);
        shop.relayout(&["--tables", "item"]);
        eventually("rows afterwards", || written.load(Ordering::Relaxed) > begun + 10);
    });
    let rows: u64 = shop.value("SELECT COUNT(*) FROM item").parse().expect("a number");
    assert_eq!(rows, before + written.load(Ordering::Relaxed));
}

#[test]
fn a_relayout_that_is_killed_or_interrupted_loses_no_row_and_begins_again() {
    let shop = Shop::up();
    shop.shuffled("item", "");
    let number = |sql: &str| -> u64 { shop.value(sql).parse().expect("a number") };
    let mut rows = number("SELECT COUNT(*) FROM item");
    let mut random = Random::new(Seed(29));
    let altering = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'ALTER TABLE%'";
    for turn in 0..10 {
        let name = ["-INT", "-KILL"][turn % 2];
        rows += written_beside(&shop, || {
            let mut child = unread(shop.home(), &RELAYOUT);
            // At any moment from its start to its end, reading pages or rebuilding.
            std::thread::sleep(Duration::from_secs_f64(0.5 * random.unit()));
            signal(name, child.id() as i32);
            child.wait().expect("an end");
        });
        eventually("the end of its statement", || shop.value(altering) == "0");
        assert_eq!(number("SELECT COUNT(*) FROM item"), rows, "{name}");
    }
    let sum = shop.sum("item");
    let all = shop.relayout(&["--tables", "item"]);
    assert!(all[0]["done"]["waits"].is_string(), "{all:?}");
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
