//! Tables that lie badly are built anew, as a user has that done: what is promised comes true, and no row is lost.

use crate::cli::{command, evenkeel, refused};
use crate::patience::eventually;
use crate::sandbox::done;
use evenkeel_core::random::{Random, Seed};
use evenkeel_site::sandbox;
use evenkeel_site::server::{Control, Target};
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// A private server with a database `shop`.
struct Shop {
    home: tempfile::TempDir,
}

impl Shop {
    fn up() -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        done(home.path(), &["sandbox", "up", "a", "--set", "innodb_buffer_pool_size=64M"]);
        let shop = Self { home };
        let server = sandbox::find(shop.home(), "a").expect("a sandbox").target();
        Control::connect(&server).expect("a connection").exec("CREATE DATABASE shop").expect("a database");
        shop
    }

    fn home(&self) -> &Path {
        self.home.path()
    }

    fn control(&self) -> Control {
        let server = sandbox::find(self.home(), "a").expect("a sandbox").target();
        Control::connect(&Target { database: Some("shop".to_owned()), ..server }).expect("a connection")
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

impl Drop for Shop {
    fn drop(&mut self) {
        evenkeel(self.home.path(), &["sandbox", "down", "a"]);
    }
}

fn index<'a>(table: &'a Value, when: &str, name: &str) -> &'a Value {
    let indexes = table[when].as_array().unwrap_or_else(|| panic!("no {when}: {table}"));
    indexes.iter().find(|index| index["index"] == name).unwrap_or_else(|| panic!("no {name}: {table}"))
}

#[test]
fn a_table_that_lies_badly_lies_in_order_afterwards_and_has_the_pages_that_were_promised() {
    let shop = Shop::up();
    shop.shuffled("item", "");
    shop.exec("CREATE TABLE small (id INT PRIMARY KEY) SELECT seq AS id FROM seq_1_to_50");
    for how in [&[][..], &["--fresh"]] {
        let (sum, next) = (shop.sum("item"), "SELECT MAX(id) > 90000 FROM item");
        let dry = shop.relayout(&[&["--dry-run"], how].concat());
        assert!(dry.iter().all(|table| table["done"].is_null()));
        let all = shop.relayout(how);
        let of = |name: &str| all.iter().find(|table| table["table"] == name).expect("a table");
        assert_eq!(of("small")["left"], "lies well", "{how:?}");
        let item = of("item");
        for name in ["PRIMARY", "by_name"] {
            let (before, after) = (index(item, "before", name), index(item, "after", name));
            assert!(before["in_order"].as_f64() < Some(0.5), "{how:?}: {before}");
            assert!(after["in_order"].as_f64() > Some(0.85), "{how:?}: {after}");
            let (promised, pages) =
                (before["promised_pages"].as_f64().expect("pages"), after["pages"].as_f64().expect("pages"));
            assert!((pages / promised - 1.0).abs() < 0.1, "{how:?} {name}: {pages} and {promised} promised");
        }
        assert_eq!(item["done"]["verified_rows"].is_u64(), how == ["--fresh"]);
        assert_eq!(shop.sum("item"), sum, "{how:?}");
        shop.exec("INSERT INTO item (name) VALUES ('next')");
        assert_eq!(shop.value(next), "1", "{how:?}: a number of before is given again");
        assert_eq!(shop.relayout(how)[0]["left"], "lies well", "{how:?}");
        // For the other way: shuffled once more.
        shop.exec("DROP TABLE item");
        shop.shuffled("item", "");
    }
}

#[test]
fn what_hangs_on_a_table_stays_in_place_and_is_refused_by_name_where_a_copy_would_lose_it() {
    let shop = Shop::up();
    shop.shuffled("item", "");
    shop.shuffled("parted", "PARTITION BY HASH (id) PARTITIONS 3");
    shop.exec("CREATE TABLE line (item BIGINT, CONSTRAINT to_item FOREIGN KEY (item) REFERENCES item (id))");
    shop.exec("CREATE TABLE notes (id BIGINT)");
    shop.exec(
        "CREATE TRIGGER takes_note AFTER INSERT ON line FOR EACH ROW INSERT INTO notes VALUES (NEW.item)",
    );
    shop.exec("CREATE VIEW seen AS SELECT * FROM item");
    let fresh = |table: &str| {
        let output = evenkeel(shop.home(), &["relayout", "sandbox:a/shop", "--fresh", "--tables", table]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(
        fresh("item").contains("foreign key to_item of line")
            && fresh("line").contains("foreign key to_item")
    );
    shop.exec("ALTER TABLE line DROP FOREIGN KEY to_item");
    assert!(fresh("line").contains("trigger takes_note"));
    assert!(fresh("seen").contains("is a view"));
    shop.exec("ALTER TABLE line ADD CONSTRAINT to_item FOREIGN KEY (item) REFERENCES item (id)");
    let sums = ["item", "parted"].map(|table| shop.sum(table));
    shop.relayout(&["--tables", "item,line,parted"]);
    assert_eq!(["item", "parted"].map(|table| shop.sum(table)), sums);
    shop.exec("INSERT INTO line VALUES (1)");
    assert_eq!(shop.value("SELECT COUNT(*) FROM notes"), "1");
    assert!(shop.control().exec("INSERT INTO line VALUES (5)").is_err(), "the foreign key holds");
    let parted = &shop.relayout(&["--tables", "parted", "--fresh"])[0];
    assert!(index(parted, "after", "PRIMARY of p1")["in_order"].as_f64() > Some(0.9), "{parted}");
    assert_eq!(shop.sum("parted"), sums[1]);
    assert_eq!(
        shop.value("SELECT COUNT(*) FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'parted'"),
        "3"
    );
    let text = refused(shop.home(), &["relayout", "sandbox:a/shop", "--tables", "nothing"]);
    assert!(text.contains("no table nothing") && text.contains("hint: "), "{text}");
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
    assert_eq!(
        shop.value(
            "SELECT COUNT(*) FROM item_evenkeel_before o LEFT JOIN item USING (id) WHERE item.id IS NULL"
        ),
        "0"
    );
    let told = evenkeel(shop.home(), &["relayout", "sandbox:a/shop", "--tables", "item", "--fresh"]);
    let said = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(
        told.status.code() == Some(1) && said.contains("item_evenkeel_before has it as it was"),
        "{told:?}"
    );
}

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
        let signal = ["-KILL", "-INT"][turn % 2];
        rows += written_beside(&shop, || {
            let words = ["relayout", "sandbox:a/shop", "--tables", "item", "--fresh"];
            let mut child = command(shop.home(), &words)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("it starts");
            eventually("a copy", || exists("item_evenkeel_relayout"));
            // At any moment from here to its end, copying, sorting, verifying, swapping or dropping.
            std::thread::sleep(Duration::from_secs_f64(0.5 * random.unit()));
            let sent = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status();
            assert!(sent.is_ok());
            child.wait().expect("an end");
        });
        eventually("the end of its statements", || {
            shop.value("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '%item_evenkeel_relayout%' AND INFO NOT LIKE '%PROCESSLIST%'") == "0"
        });
        assert!(signal == "-KILL" || !exists("item_evenkeel_relayout"), "Ctrl-C left the copy");
        // A kill in the instant of the swap may leave a row in the old table alone, which is there to be looked at.
        let all = match exists("item_evenkeel_before") {
            true => "SELECT COUNT(*) FROM (SELECT id FROM item UNION SELECT id FROM item_evenkeel_before) a",
            false => "SELECT COUNT(*) FROM item",
        };
        assert_eq!(number(all), rows, "{signal}");
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

#[test]
fn ctrl_c_takes_the_copy_away_also_where_that_takes_time() {
    let shop = Shop::up();
    shop.shuffled("item", "");
    let mut holder = shop.control();
    let count = |sql: &str| -> u64 { shop.value(sql).parse().expect("a number") };
    let tables = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME LIKE 'item_evenkeel%'";
    let waits = |what: &str| {
        count(&format!(
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '{what}%item_evenkeel_relayout%'"
        )) > 0
    };
    let held = (0..20).any(|_| {
        let child = command(shop.home(), &["relayout", "sandbox:a/shop", "--tables", "item", "--fresh"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let child = std::cell::RefCell::new(child);
        let has_ended = || child.borrow_mut().try_wait().is_ok_and(|end| end.is_some());
        eventually("a copy", || count(tables) == 1 || has_ended());
        let mut child = child.into_inner();
        // A copy that somebody else holds cannot be finished; a relayout that was faster is tried again.
        if holder.exec("LOCK TABLES item_evenkeel_relayout WRITE").is_err() {
            child.wait().expect("an end");
            return false;
        }
        eventually("a statement that waits", || waits("ALTER TABLE") || waits("SELECT COUNT(*)"));
        let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(sent.is_ok());
        eventually("the copy being dropped", || waits("DROP TABLE"));
        holder.exec("UNLOCK TABLES").expect("an answer");
        assert_eq!(child.wait().expect("an end").code(), Some(130));
        assert_eq!(count(tables), 0);
        true
    });
    assert!(held, "the copy was never held");
}

#[test]
fn what_a_copy_would_compute_to_something_else_is_found_and_the_table_left_as_it_was() {
    let shop = Shop::up();
    shop.exec("CREATE TABLE told (id INT PRIMARY KEY, at TIMESTAMP NOT NULL, day DATE AS (DATE(at)) STORED)");
    let mut elsewhere = shop.control();
    elsewhere.exec("SET time_zone = '+05:00'").expect("a zone");
    elsewhere
        .exec("INSERT INTO told (id, at) SELECT seq, '2026-03-01 01:00:00' FROM seq_1_to_500")
        .expect("rows");
    let days = |table: &str| shop.value(&format!("SELECT CONCAT(COUNT(*), MIN(day), MAX(day)) FROM {table}"));
    let before = days("told");
    let fresh = ["relayout", "sandbox:a/shop", "--tables", "told", "--fresh"];
    let text = refused(shop.home(), &fresh);
    assert!(text.contains("the copy of table told has") && text.contains("in place"), "{text}");
    assert_eq!(days("told"), before);
    assert_eq!(
        shop.value("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME LIKE 'told_evenkeel%'"),
        "0"
    );
    shop.relayout(&["--tables", "told"]);
    assert_eq!(days("told"), before);
    // What the server builds anew by a copy alone is not done unseen.
    shop.exec("CREATE TABLE found (id INT PRIMARY KEY, words TEXT, more TEXT, size INT AS (LENGTH(words)) STORED, FULLTEXT (words), FULLTEXT (more))");
    let text = refused(shop.home(), &["relayout", "sandbox:a/shop", "--tables", "found"]);
    assert!(text.contains("has a stored generated column") && text.contains("--fresh"), "{text}");
}

#[test]
fn foreign_keys_of_other_databases_are_seen_or_the_table_is_refused() {
    let shop = Shop::up();
    shop.shuffled("item", "");
    shop.exec("CREATE DATABASE `bill-ing`");
    shop.exec("CREATE TABLE `bill-ing`.line (item BIGINT, CONSTRAINT to_item FOREIGN KEY (item) REFERENCES shop.item (id))");
    shop.exec("CREATE USER clerk IDENTIFIED BY 'clerk'");
    shop.exec("GRANT ALL ON shop.* TO clerk");
    let server = sandbox::find(shop.home(), "a").expect("a sandbox").target();
    let url =
        Target { user: "clerk".to_owned(), password: None, database: Some("shop".to_owned()), ..server };
    let fresh = |table: &str| {
        let mut clerk =
            command(shop.home(), &["relayout", &url.to_string(), "--tables", table, "--fresh", "--dry-run"]);
        let output = clerk.env("EVENKEEL_PASSWORD", "clerk").output().expect("it runs");
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let hidden = fresh("item");
    assert!(hidden.contains("may be referred to by foreign keys") && hidden.contains("PROCESS"), "{hidden}");
    shop.exec("GRANT PROCESS ON *.* TO clerk");
    assert!(fresh("item").contains("has foreign key to_item of bill-ing.line"), "{}", fresh("item"));
}

/// Begins to build the table anew.
fn begun(shop: &Shop) -> std::process::Child {
    let mut words = command(shop.home(), &["relayout", "sandbox:a/shop", "--tables", "item", "--fresh"]);
    words.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
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
        let child = begun(&shop);
        eventually("a copy", || {
            count("information_schema.TABLES WHERE TABLE_NAME = 'item_evenkeel_relayout'") == "1"
        });
        let (sql, what, place) = change(number);
        shop.exec(&sql);
        let output = child.wait_with_output().expect("an end");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let is_there = |table: &str| count(&format!("{place} = '{table}'")) == "1";
        assert!(is_there("item") || is_there("item_evenkeel_before"), "{told}");
        if !is_there("item") {
            assert!(told.contains(what) && told.contains("while its copy took its place"), "{told}");
            assert!(told.contains("drop neither"), "{told}");
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
    let both: Vec<_> = [begun(&shop), begun(&shop)]
        .into_iter()
        .map(|child| child.wait_with_output().expect("an end"))
        .collect();
    assert!(both.iter().any(|output| output.status.success()), "{both:?}");
    for output in both.iter().filter(|output| !output.status.success()) {
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains("is being built anew by somebody else"), "{told}");
    }
    assert_eq!(shop.sum("item"), sum);
}
