//! Tables that lie badly are built anew, as a user has that done: what is promised comes true, and no row is lost.

mod meanwhile;

use crate::cli::{asked, command, evenkeel, refused, text};
use crate::sandbox::{Home, done};
use evenkeel_site::server::{Control, Target};
use serde_json::Value;
use std::path::Path;

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
        assert_eq!(of("small")["left"], "good layout", "{how:?}");
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
        assert_eq!(shop.relayout(how)[0]["left"], "good layout", "{how:?}");
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
        let (code, told) = asked(shop.home(), &["relayout", "sandbox:a/shop", "--fresh", "--tables", table]);
        assert_eq!(code, Some(1), "{told}");
        told
    };
    assert!(fresh("item").contains("foreign key to_item of line"));
    assert!(fresh("line").contains("foreign key to_item"));
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
    let parts = "SELECT COUNT(*) FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'parted'";
    assert_eq!(shop.value(parts), "3");
}

#[test]
fn what_a_copy_would_compute_to_something_else_is_found_and_the_table_left_as_it_was() {
    let shop = Shop::up();
    shop.exec("CREATE TABLE told (id INT PRIMARY KEY, at TIMESTAMP NOT NULL, day DATE AS (DATE(at)) STORED)");
    let mut elsewhere = shop.control();
    elsewhere.exec("SET time_zone = '+05:00'").expect("a zone");
    let rows = "INSERT INTO told (id, at) SELECT seq, '2026-03-01 01:00:00' FROM seq_1_to_500";
    elsewhere.exec(rows).expect("rows");
    let days = |table: &str| shop.value(&format!("SELECT CONCAT(COUNT(*), MIN(day), MAX(day)) FROM {table}"));
    let before = days("told");
    let fresh = ["relayout", "sandbox:a/shop", "--tables", "told", "--fresh"];
    let text = refused(shop.home(), &fresh);
    assert!(text.contains("the copy of table told has") && text.contains("in place"), "{text}");
    assert_eq!(days("told"), before);
    let left_over = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME LIKE 'told_evenkeel%'";
    assert_eq!(shop.value(left_over), "0");
    shop.relayout(&["--tables", "told"]);
    assert_eq!(days("told"), before);
    // What the server builds anew by a copy alone is not done unseen.
    shop.exec("CREATE TABLE found (id INT PRIMARY KEY, words TEXT, more TEXT, size INT AS (LENGTH(words)) STORED, FULLTEXT (words), FULLTEXT (more))");
    let (code, all) = left(&shop, &["--tables", "found"]);
    let why = all[0]["left"].as_str().expect("a refusal");
    assert_eq!(code, Some(1), "{all:?}");
    assert!(why.contains("has a stored generated column") && why.contains("--fresh"), "{why}");
}

#[test]
fn foreign_keys_of_other_databases_are_seen_or_the_table_is_refused() {
    let shop = Shop::up();
    shop.shuffled("item", "");
    shop.exec("CREATE DATABASE `bill-ing`");
    shop.exec("CREATE TABLE `bill-ing`.line (item BIGINT, CONSTRAINT to_item FOREIGN KEY (item) REFERENCES shop.item (id))");
    shop.exec("CREATE USER clerk IDENTIFIED BY 'clerk'");
    shop.exec("GRANT ALL ON shop.* TO clerk");
    let root = shop.control().target().clone();
    let url = Target { user: "clerk".to_owned(), password: None, ..root };
    let clerk = |code: i32, flags: &[&str]| {
        let words = ["relayout", &url.to_string(), "--dry-run"];
        let mut clerk = command(shop.home(), &[&words[..], flags].concat());
        let output = clerk.env("EVENKEEL_PASSWORD", "clerk").output().expect("it runs");
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        text(&output)
    };
    // What cannot be seen is not said to lie well.
    let (said, told) = clerk(2, &[]);
    assert!(
        told.contains("cannot read the page layout of item: the account lacks the privilege PROCESS"),
        "{told}"
    );
    assert!(told.contains("GRANT PROCESS, RELOAD ON *.* TO `clerk`@`%`") && said.is_empty(), "{told}");
    let fresh = ["--tables", "item", "--fresh"];
    let (hidden, _) = clerk(1, &fresh);
    assert!(hidden.contains("may be referred to by foreign keys") && hidden.contains("PROCESS"), "{hidden}");
    shop.exec("GRANT PROCESS ON *.* TO clerk");
    let (seen, _) = clerk(1, &fresh);
    assert!(seen.contains("has foreign key to_item of bill-ing.line"), "{seen}");
}

#[test]
fn settings_of_the_server_and_tables_of_others_lose_no_column_and_no_row() {
    let shop = Shop::up();
    shop.exec("CREATE TABLE o (id INT PRIMARY KEY, a INT, b INT, c INT, d INT, name VARCHAR(20) NOT NULL DEFAULT 'none')");
    shop.exec("INSERT INTO o SELECT seq, 1, 2, 3, 4, CONCAT('v', seq) FROM seq_1_to_1000");
    let sum = || {
        shop.value("SELECT CONCAT(COUNT(*), ' ', SUM(CRC32(CONCAT_WS('|', id, a, b, c, d, name)))) FROM o")
    };
    let had = sum();
    shop.exec("SET GLOBAL sql_select_limit = 3");
    shop.exec("SET GLOBAL autocommit = 0");
    let done = shop.relayout(&["--tables", "o", "--fresh"]);
    assert!(done[0]["done"]["verified_rows"] == 1_000, "{done:?}");
    assert_eq!(sum(), had);
    shop.exec("SET GLOBAL sql_select_limit = DEFAULT");
    shop.exec("SET GLOBAL autocommit = 1");

    shop.exec("CREATE TABLE o_evenkeel_relayout (precious INT)");
    shop.exec("CREATE TABLE p LIKE o");
    // One that is refused while it is done does not keep the next one from its turn.
    let (code, all) = left(&shop, &["--tables", "o,p", "--fresh"]);
    assert_eq!((code, all.len()), (Some(1), 2), "{all:?}");
    let why = all[0]["left"].as_str().expect("a refusal");
    assert!(why.contains("another table or view has that name"), "{why}");
    assert!(all[0]["done"].is_null() && all[1]["done"]["verified_rows"] == 0, "{all:?}");
    assert_eq!(shop.value("SELECT COUNT(*) FROM o_evenkeel_relayout"), "0");
    shop.exec("DROP TABLE o_evenkeel_relayout");
    // The rest of an earlier one is made as the table is.
    shop.exec("CREATE TABLE o_evenkeel_relayout LIKE o");
    shop.relayout(&["--tables", "o", "--fresh"]);

    let elsewhere = shop.home().join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a folder");
    shop.exec(&format!(
        "CREATE TABLE parted (id INT PRIMARY KEY) PARTITION BY RANGE (id) \
         (PARTITION p0 VALUES LESS THAN (9) DATA DIRECTORY = '{0}', PARTITION p1 VALUES LESS THAN MAXVALUE DATA DIRECTORY = '{0}')",
        elsewhere.display()
    ));
    let (code, all) = left(&shop, &["--tables", "parted", "--fresh"]);
    assert_eq!(code, Some(1), "{all:?}");
    assert!(all[0]["left"].as_str().is_some_and(|why| why.contains("DATA DIRECTORY")), "{all:?}");
}

/// The exit code of a relayout, and what is said of each table.
fn left(shop: &Shop, flags: &[&str]) -> (Option<i32>, Vec<Value>) {
    let output = evenkeel(shop.home(), &[&["relayout", "sandbox:a/shop", "--json"], flags].concat());
    (output.status.code(), serde_json::from_slice(&output.stdout).expect("JSON"))
}
