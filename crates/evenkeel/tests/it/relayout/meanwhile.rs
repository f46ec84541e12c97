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

/// So many write rows into the table as long as somebody does something else; how many rows they wrote for sure.
fn written_beside(shop: &Shop, (writers, nap): (usize, Duration), work: impl FnOnce(&AtomicU64)) -> u64 {
    /// Whatever happens, nobody goes on writing.
    struct Over<'a>(&'a AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let (over, written) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..writers {
            scope.spawn(|| {
                let mut control = shop.control();
                while !over.load(Ordering::Relaxed) {
                    control.exec("INSERT INTO item (name, price) VALUES (MD5(RAND()), 7)").expect("a row");
                    written.fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(nap);
                }
            });
        }
        let _over = Over(&over);
        work(&written);
    });
    written.into_inner()
}

fn rows(shop: &Shop) -> u64 {
    shop.value("SELECT COUNT(*) FROM item").parse().expect("a number")
}

#[test]
fn rows_that_are_written_meanwhile_are_neither_lost_nor_doubled() {
    let shop = Shop::up();
    shop.shuffled("item", "");
    let before = rows(&shop);
    let new = written_beside(&shop, (3, Duration::ZERO), |written| {
        let begun = written.load(Ordering::Relaxed);
        shop.relayout(&["--tables", "item"]);
        eventually("rows afterwards", || written.load(Ordering::Relaxed) > begun + 10);
    });
    assert_eq!(rows(&shop), before + new);
}

#[test]
fn a_relayout_that_is_killed_or_interrupted_loses_no_row_and_begins_again() {
    let shop = Shop::up();
    shop.shuffled("item", "");
    let mut expected = rows(&shop);
    let mut random = Random::new(Seed(29));
    let altering = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'ALTER TABLE%'";
    for turn in 0..10 {
        let name = ["-INT", "-KILL"][turn % 2];
        expected += written_beside(&shop, (1, Duration::from_millis(2)), |_| {
            let mut child = unread(shop.home(), &RELAYOUT);
            // At any moment from its start to its end, reading pages or rebuilding.
            std::thread::sleep(Duration::from_secs_f64(0.5 * random.unit()));
            signal(name, child.id() as i32);
            child.wait().expect("an end");
        });
        eventually("the end of its statement", || shop.value(altering) == "0");
        assert_eq!(rows(&shop), expected, "{name}");
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
