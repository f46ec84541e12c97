//! Tables that lie badly are built anew, as a user has that done: what is estimated comes true, and no row is lost.

use crate::cli::{asked, command, ended, evenkeel, eventually, piped, refused, text, unread};
use crate::guard::server::signal;
use crate::sandbox::{Home, done};
use evenkeel_core::random::{Random, Seed};
use evenkeel_site::server::{Control, Target};
use serde_json::Value;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// A private server with a database `shop`.
struct Shop {
    home: Home,
}

impl Shop {
    fn up() -> Self {
        let home = Home::up(&["--set", "innodb_buffer_pool_size=64M"]);
        home.control(None).exec("CREATE DATABASE shop").expect("a database");
        Self { home }
    }

    fn home(&self) -> &Path {
        self.home.path()
    }

    fn control(&self) -> Control {
        self.home.control(Some("shop"))
    }

    fn exec(&self, sql: &str) {
        self.control().exec(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    fn value(&self, sql: &str) -> String {
        self.control().query_value(sql).expect(sql).unwrap_or_default()
    }

    /// A table whose rows came in no order, a fifth of which are gone.
    fn shuffled(&self, table: &str, more: &str) {
        self.exec(&format!(
            "CREATE TABLE {table} (id BIGINT NOT NULL AUTO_INCREMENT, name VARCHAR(60), price INT, \
             tax INT AS (price DIV 5) STORED, PRIMARY KEY (id), KEY by_name (name)) {more}"
        ));
        self.exec(&format!(
            "INSERT INTO {table} (id, name, price) SELECT seq, MD5(seq), seq FROM seq_1_to_20000 ORDER BY CRC32(seq)"
        ));
        self.exec(&format!("DELETE FROM {table} WHERE id % 5 = 0"));
        // The last numbers are gone and must not be given again.
        self.exec(&format!("INSERT INTO {table} (id, name) VALUES (90000, 'gone')"));
        self.exec(&format!("DELETE FROM {table} WHERE id = 90000"));
        // Rows that are gone take room until the server has cleared them away.
        self.exec("SET GLOBAL innodb_max_purge_lag_wait = 0");
    }

    fn sum(&self, table: &str) -> String {
        self.value(&format!(
            "SELECT CONCAT(COUNT(*), ' ', SUM(id), ' ', SUM(CRC32(CONCAT_WS('|', id, name, price, tax)))) FROM {table}"
        ))
    }

    fn relayout(&self, more: &[&str]) -> Vec<Value> {
        let text = done(self.home(), &[&["relayout", "sandbox:a/shop", "--json", "--quiet"], more].concat());
        serde_json::from_str(&text).expect("JSON")
    }
}

fn index<'a>(table: &'a Value, when: &str, name: &str) -> &'a Value {
    let indexes = table[when].as_array().unwrap_or_else(|| panic!("no {when}: {table}"));
    indexes.iter().find(|index| index["index"] == name).unwrap_or_else(|| panic!("no {name}: {table}"))
}

#[test]
fn a_table_that_lies_badly_lies_in_order_afterwards_and_has_the_pages_that_were_estimated() {
    let shop = Shop::up();
    shop.shuffled("item", "");
    shop.exec("CREATE TABLE small (id INT PRIMARY KEY) SELECT seq AS id FROM seq_1_to_50");
    let (sum, next) = (shop.sum("item"), "SELECT MAX(id) > 90000 FROM item");
    let dry = shop.relayout(&["--dry-run"]);
    assert!(dry.iter().all(|table| table["done"].is_null()));
    let all = shop.relayout(&[]);
    let of = |name: &str| all.iter().find(|table| table["table"] == name).expect("a table");
    assert_eq!(of("small")["left"], "good layout");
    let item = of("item");
    for name in ["PRIMARY", "by_name"] {
        let (before, after) = (index(item, "before", name), index(item, "after", name));
        assert!(before["in_order"].as_f64() < Some(0.5), "{before}");
        assert!(after["in_order"].as_f64() > Some(0.85), "{after}");
        let (estimate, pages) =
            (before["rebuilt_pages"].as_f64().expect("pages"), after["pages"].as_f64().expect("pages"));
        assert!((pages / estimate - 1.0).abs() < 0.1, "{name}: {pages}, and {estimate} estimated");
    }
    assert_eq!(shop.sum("item"), sum);
    shop.exec("INSERT INTO item (name) VALUES ('next')");
    assert_eq!(shop.value(next), "1", "a number of before is given again");
    assert_eq!(shop.relayout(&[])[0]["left"], "good layout");
}

#[test]
fn what_hangs_on_a_table_stays() {
    let shop = Shop::up();
    shop.shuffled("item", "");
    shop.shuffled("parted", "PARTITION BY HASH (id) PARTITIONS 3");
    shop.exec("CREATE TABLE line (item BIGINT, CONSTRAINT to_item FOREIGN KEY (item) REFERENCES item (id))");
    shop.exec("CREATE TABLE notes (id BIGINT)");
    shop.exec(
        "CREATE TRIGGER takes_note AFTER INSERT ON line FOR EACH ROW INSERT INTO notes VALUES (NEW.item)",
    );
    shop.exec("CREATE VIEW seen AS SELECT * FROM item");
    let (code, told) = asked(shop.home(), &["relayout", "sandbox:a/shop", "--tables", "seen"]);
    assert!(code == Some(1) && told.contains("is a view"), "{told}");
    let sums = ["item", "parted"].map(|table| shop.sum(table));
    let all = shop.relayout(&["--tables", "item,line,parted"]);
    assert_eq!(["item", "parted"].map(|table| shop.sum(table)), sums);
    assert_eq!(all[0]["foreign_keys"][0], "to_item of line");
    assert_eq!(all[1]["triggers"][0], "takes_note");
    shop.exec("INSERT INTO line VALUES (1)");
    assert_eq!(shop.value("SELECT COUNT(*) FROM notes"), "1");
    assert!(shop.control().exec("INSERT INTO line VALUES (5)").is_err(), "the foreign key holds");
    let parted = &all[2];
    assert!(index(parted, "after", "PRIMARY of p1")["in_order"].as_f64() > Some(0.85), "{parted}");
    let parts = "SELECT COUNT(*) FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'parted'";
    assert_eq!(shop.value(parts), "3");
}

#[test]
fn what_a_copy_would_compute_to_something_else_stays_or_the_table_is_left_as_it_was() {
    let shop = Shop::up();
    shop.exec("CREATE TABLE told (id INT PRIMARY KEY, at TIMESTAMP NOT NULL, day DATE AS (DATE(at)) STORED)");
    let mut elsewhere = shop.control();
    elsewhere.exec("SET time_zone = '+05:00'").expect("a zone");
    let rows = "INSERT INTO told (id, at) SELECT seq, '2026-03-01 01:00:00' FROM seq_1_to_500";
    elsewhere.exec(rows).expect("rows");
    let days = || shop.value("SELECT CONCAT(COUNT(*), MIN(day), MAX(day)) FROM told");
    let before = days();
    // What the server builds anew by a copy alone is not done unseen, and keeps no other table from its turn.
    shop.exec("CREATE TABLE found (id INT PRIMARY KEY, words TEXT, more TEXT, size INT AS (LENGTH(words)) STORED, FULLTEXT (words), FULLTEXT (more))");
    let output = evenkeel(shop.home(), &["relayout", "sandbox:a/shop", "--json", "--tables", "found,told"]);
    let all: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    let why = all[0]["left"].as_str().expect("a refusal");
    assert_eq!(output.status.code(), Some(1), "{all:?}");
    assert!(why.contains("has a stored generated column") && why.contains("FULLTEXT"), "{why}");
    assert!(all[0]["done"].is_null() && all[1]["done"]["waits"].is_string(), "{all:?}");
    assert_eq!(days(), before);
}

#[test]
fn what_the_account_cannot_see_is_not_said_to_lie_well() {
    let shop = Shop::up();
    shop.shuffled("item", "");
    shop.exec("CREATE USER clerk IDENTIFIED BY 'clerk'");
    shop.exec("GRANT ALL ON shop.* TO clerk");
    let root = shop.control().target().clone();
    let url = Target { user: "clerk".to_owned(), password: None, ..root };
    let mut clerk = command(shop.home(), &["relayout", &url.to_string(), "--dry-run"]);
    let output = clerk.env("EVENKEEL_PASSWORD", "clerk").output().expect("it runs");
    let (said, told) = ended(&output, 2);
    assert!(
        told.contains("cannot read the page layout of item: the account lacks the privilege PROCESS"),
        "{told}"
    );
    assert!(told.contains("GRANT PROCESS, RELOAD ON *.* TO `clerk`@`%`") && said.is_empty(), "{told}");
}

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

#[test]
fn what_it_builds_how_far_it_is_and_how_long_it_takes_is_told_while_it_works() {
    let shop = Shop::up();
    shop.shuffled("item", "");
    shop.exec("CREATE TABLE small (id INT PRIMARY KEY)");
    shop.exec("CREATE TABLE docs (id INT PRIMARY KEY, body LONGBLOB)");
    shop.exec("INSERT INTO docs SELECT seq, REPEAT('x', 200000) FROM seq_1_to_200");
    let mut open = shop.control();
    open.exec("BEGIN").expect("a transaction");
    open.exec("SELECT COUNT(*) FROM small").expect("a look");
    let child = piped(shop.home(), &["relayout", "sandbox:a/shop", "--json", "--all", "--lock-wait", "60s"]);
    let waits = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'ALTER TABLE%' AND TIME_MS > 1500";
    eventually("a rebuild that waits", || shop.value(waits) == "1");
    open.exec("COMMIT").expect("an end");
    let (said, told) = ended(&child.wait_with_output().expect("an end"), 0);
    let events: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |event: &str| events.iter().filter(|found| found["event"] == event).collect::<Vec<_>>();
    // The smallest comes first, and has nothing to be estimated by.
    let announced = of("announced");
    let begins = |place: usize, table: &str| {
        announced[place]["text"].as_str().is_some_and(|text| text.starts_with(table))
    };
    assert!(begins(0, "small: ") && begins(1, "item: ") && begins(2, "docs: 4"), "{announced:?}");
    let steps = of("rebuilding");
    assert!(
        steps.iter().any(|step| step["table"] == "small" && step["elapsed_s"].as_f64() > Some(1.0)),
        "{steps:?}"
    );
    let all: Vec<Value> = serde_json::from_str(&said).expect("JSON");
    assert!(
        all.iter().all(|table| table["took_s"].is_number() && table["room_after"]["file_bytes"].is_u64()),
        "{said}"
    );
}

#[test]
fn no_table_begins_before_a_replica_has_caught_up_and_what_is_no_replica_is_refused() {
    let shop = Shop::up();
    shop.shuffled("item", "");
    let waits = [&RELAYOUT[..], &["--replica", "sandbox:a", "--max-lag", "2s"]].concat();
    let told = refused(shop.home(), &waits);
    assert!(told.contains("is not a replica") && told.contains("--replica names"), "{told}");
    assert!(refused(shop.home(), &[&RELAYOUT[..], &["--max-lag", "2s"]].concat()).contains("--replica"));
    // It would replicate from a server that is not there.
    shop.exec("CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = 1, MASTER_USER = 'nobody'");
    let child = piped(shop.home(), &waits);
    std::thread::sleep(Duration::from_secs(3));
    signal("-INT", child.id() as i32);
    let output = child.wait_with_output().expect("an end");
    let (said, told) = text(&output);
    assert_eq!(output.status.code(), Some(130), "{said}{told}");
    assert!(
        told.contains("waiting: replication is not running on") && !said.contains("rebuilt in"),
        "{said}{told}"
    );
}
