//! Pages of real servers: what the ways in leave behind, stopped and running, shared and not, copied, and as innochecksum counts them.

use crate::cli::{command, ended, ends, evenkeel, refused};
use crate::left_out::left_out;
use crate::sandbox::{Home, done};
use crate::servers;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

fn layout(home: &Path, arguments: &[&str]) -> Vec<Value> {
    let text = done(home, &[&["layout", "--json"], arguments].concat());
    serde_json::from_str(&text).expect("JSON")
}

fn indexes(files: &[Value]) -> BTreeMap<(String, String), Value> {
    let all = files.iter().flat_map(|file| file["indexes"].as_array().expect("indexes"));
    let name = |index: &Value, key: &str| index[key].as_str().expect("a name").to_owned();
    all.map(|index| ((name(index, "table"), name(index, "index")), index.clone())).collect()
}

fn figure(files: &[Value], table: &str, index: &str, key: &str) -> f64 {
    let name = (format!("tpcw/{table}"), index.to_owned());
    indexes(files)
        .get(&name)
        .and_then(|index| index[key].as_f64())
        .unwrap_or_else(|| panic!("{name:?} {key}"))
}

fn up(home: &Path, name: &str, via: &str, more: &[&str]) {
    let fill = ["sandbox", "up", name, "--ebs", "1", "--items", "2000", "--via", via];
    done(home, &[&fill[..], more].concat());
}

/// Pages of each index by innochecksum; `None` where that is not installed.
fn by_innochecksum(file: &str) -> Option<BTreeMap<u64, u64>> {
    let said = Command::new("innochecksum").args(["-S", file]).output().ok()?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let lines = text.lines().skip_while(|line| !line.starts_with("index_id\t#pages")).skip(1);
    let numbers = lines.map_while(|line| {
        let mut words = line.split_ascii_whitespace();
        Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    });
    Some(numbers.collect())
}

#[test]
fn shuffled_rows_leave_other_pages_than_a_dump_and_a_copy_leaves_the_same() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let home = home.path();
    up(home, "worst", "shuffled", &[]);
    up(home, "best", "dump", &[]);
    let [worst, best] = ["sandbox:worst", "sandbox:best"].map(|place| layout(home, &[place]));
    for table in ["item", "author"] {
        let (shuffled, dumped) =
            (figure(&worst, table, "PRIMARY", "in_order"), figure(&best, table, "PRIMARY", "in_order"));
        assert!(shuffled < 0.3 && dumped > 0.85, "{table}: {shuffled} and {dumped}");
    }
    assert!(figure(&best, "item", "PRIMARY", "in_order") > 0.95);
    assert!(figure(&worst, "item", "PRIMARY", "fill") < 0.8);

    // A server that was stopped says the same as the one that ran, and its dictionary names the same indexes.
    done(home, &["sandbox", "down", "best"]);
    let stopped = layout(home, &["sandbox:best", "--table", "item"]);
    let running: BTreeMap<_, _> =
        indexes(&best).into_iter().filter(|((table, _), _)| table == "tpcw/item").collect();
    assert_eq!(indexes(&stopped), running);
    let file = stopped[0]["file"].as_str().expect("a path");
    match by_innochecksum(file) {
        None => left_out("innochecksum is not installed"),
        Some(counted) => {
            let number = |index: &Value, key: &str| index[key].as_u64().expect("a number");
            let ours = indexes(&stopped).into_values();
            let ours = ours.map(|index| (number(&index, "index_id"), number(&index, "pages")));
            assert_eq!(ours.collect::<BTreeMap<_, _>>(), counted);
        }
    }
    done(home, &["sandbox", "up", "twin", "--copy-of", "best"]);
    let twin = layout(home, &["sandbox:twin", "--table", "item"]);
    assert_eq!(indexes(&twin), indexes(&stopped));
    let twin = file.replace("/best/", "/twin/");
    let held = refused(home, &["layout", &twin]);
    assert!(held.contains("a server (process ") && held.contains("name the server: mysql://"), "{held}");
    for name in ["worst", "twin"] {
        done(home, &["sandbox", "down", name]);
    }
}

#[test]
fn a_script_grows_its_secondary_indexes_out_of_order_in_one_shared_file() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let home = home.path();
    up(home, "script", "script", &["--set", "innodb_file_per_table=OFF"]);
    let running = refused(home, &["layout", "sandbox:script"]);
    assert!(running.contains("shared tablespace") && running.contains("sandbox down"), "{running}");
    done(home, &["sandbox", "down", "script"]);
    let found = layout(home, &["sandbox:script", "--table", "tpcw.item"]);
    assert!(found.len() == 1 && found[0]["file"].as_str().is_some_and(|file| file.ends_with("ibdata1")));
    assert!(figure(&found, "item", "PRIMARY", "in_order") > 0.8);
    assert!(figure(&found, "item", "i_title", "in_order") < 0.5);

    let shown = done(home, &["layout", "sandbox:script"]);
    assert!(shown.contains("tpcw.order_line") && !shown.contains("SYS_TABLES"), "{shown}");
}

#[test]
fn one_table_that_cannot_be_read_is_left_out_by_name_and_the_others_are_told() {
    let home = tempfile::tempdir().expect("a temporary directory");
    done(home.path(), &["sandbox", "up", "a"]);
    let sql = "CREATE DATABASE s; CREATE TABLE s.plain (id INT PRIMARY KEY); \
               CREATE TABLE s.packed (id INT PRIMARY KEY) ROW_FORMAT=COMPRESSED; \
               CREATE TABLE s.found (id INT PRIMARY KEY, words TEXT, FULLTEXT (words))";
    done(home.path(), &["sandbox", "shell", "a", "--", "-e", sql]);
    for state in ["up", "down"] {
        let output = evenkeel(home.path(), &["layout", "sandbox:a", "--json"]);
        let (said, left) = ended(&output, 1);
        let files: Vec<Value> = serde_json::from_str(&said).expect("JSON");
        let found = indexes(&files);
        let has = |table: &str| found.keys().any(|(name, _)| name == &format!("s/{table}"));
        assert!(has("plain") && has("found") && !has("packed"), "{state}: {found:?}");
        assert!(left.contains("left out: ") && left.contains("packed"), "{state}: {left}");
        assert_eq!(left.matches("left out: ").count(), 1, "{state}: {left}");
        // It is read once more as it lies when the server is stopped.
        if state == "up" {
            done(home.path(), &["sandbox", "down", "a"]);
        }
    }
}

#[test]
fn a_column_that_was_added_without_a_rebuild_adds_no_record() {
    let home = tempfile::tempdir().expect("a temporary directory");
    done(home.path(), &["sandbox", "up", "a"]);
    let sql = "CREATE DATABASE tpcw; CREATE TABLE tpcw.t (a INT PRIMARY KEY); INSERT INTO tpcw.t VALUES (1), (2), (3), (4), (5), (6); \
               ALTER TABLE tpcw.t ADD b INT NOT NULL DEFAULT 5, ALGORITHM=INSTANT";
    done(home.path(), &["sandbox", "shell", "a", "--", "-e", sql]);
    done(home.path(), &["sandbox", "down", "a"]);
    assert_eq!(figure(&layout(home.path(), &["sandbox:a"]), "t", "PRIMARY", "records"), 6.0);
}

/// A database with long values, and a table of which nine rows in ten are gone.
const LONG_AND_GONE: &str = "CREATE DATABASE tpcw; USE tpcw; CREATE TABLE tpcw.docs (id INT PRIMARY KEY, body LONGBLOB); \
    INSERT INTO tpcw.docs SELECT seq, REPEAT('x', 200000) FROM seq_1_to_50; \
    CREATE TABLE tpcw.gone (id INT PRIMARY KEY, name VARCHAR(300)); \
    INSERT INTO tpcw.gone SELECT seq, REPEAT('x', 200) FROM seq_1_to_100000";

#[test]
fn values_outside_their_rows_and_room_left_by_deletes_are_counted_also_before_they_are_cleared_away() {
    let home = Home::up(&[]);
    done(home.path(), &["sandbox", "shell", "a", "--", "-e", LONG_AND_GONE]);
    // Who sees the rows as they were keeps the server from clearing them away.
    let mut old = home.control(None);
    old.exec("START TRANSACTION WITH CONSISTENT SNAPSHOT").expect("a transaction");
    home.control(Some("tpcw")).exec("DELETE FROM gone WHERE id > 10000").expect("a delete");
    let advice = "tpcw.gone: a rebuild (evenkeel relayout) would free about ";
    for cleared in [false, true] {
        if cleared {
            old.exec("COMMIT").expect("an end");
            home.control(None).exec("SET GLOBAL innodb_max_purge_lag_wait = 0").expect("an end");
        }
        let found = layout(home.path(), &["sandbox:a"]);
        let file = |table: &str| {
            let is_it = |file: &&Value| file["file"].as_str().is_some_and(|name| name.ends_with(table));
            found.iter().find(is_it).expect("a file")
        };
        // 200 kB take twelve whole pages and a part of one more.
        assert_eq!(file("docs.ibd")["outside_pages"], 50 * 13, "{cleared}");
        assert!(file("docs.ibd")["room"]["rebuilt_bytes"].as_u64() > Some(50 * 200_000), "{cleared}");
        assert!(file("docs.ibd")["gives_back_bytes"].is_null());
        assert_eq!(figure(&found, "gone", "PRIMARY", "records"), 10_000.0, "{cleared}");
        assert_eq!(figure(&found, "gone", "PRIMARY", "deleted_records") > 80_000.0, !cleared);
        assert!(file("gone.ibd")["gives_back_bytes"].as_u64() > Some(15 << 20), "{cleared}: {found:?}");
        let shown = done(home.path(), &["layout", "sandbox:a"]);
        assert!(shown.contains(advice) && shown.contains("tpcw.docs: 10.2 MiB of long values"), "{shown}");
    }
    let dry = done(home.path(), &["relayout", "sandbox:a/tpcw", "--dry-run"]);
    assert!(
        dry.contains("gone: a rebuild (evenkeel relayout) would free about ")
            && dry.contains("1 table would be rebuilt"),
        "{dry}"
    );
    done(home.path(), &["relayout", "sandbox:a/tpcw", "--quiet"]);
    let after = done(home.path(), &["layout", "sandbox:a"]);
    assert!(!after.contains(advice), "{after}");
}

#[test]
fn a_server_is_named_by_its_url_and_one_of_another_machine_is_refused() {
    let home = Home::up(&[]);
    let sql = "CREATE DATABASE tpcw; CREATE TABLE tpcw.t (a INT PRIMARY KEY); CREATE DATABASE other; \
               CREATE TABLE other.t (a INT PRIMARY KEY); CREATE USER app@'%' IDENTIFIED BY 'secret'; GRANT ALL ON *.* TO app@'%'";
    done(home.path(), &["sandbox", "shell", "a", "--", "-e", sql]);
    let port = home.control(None).query_value("SELECT @@port").expect("a port").expect("a port");
    let tables = |url: &str| {
        let output =
            command(home.path(), &["layout", url, "--json"]).env("EVENKEEL_PASSWORD", "secret").output();
        let files: Vec<Value> = serde_json::from_str(&ended(&output.expect("it runs"), 0).0).expect("JSON");
        indexes(&files).into_keys().map(|(table, _)| table).collect::<Vec<_>>()
    };
    assert_eq!(tables(&format!("mysql://app@127.0.0.1:{port}/tpcw")), ["tpcw/t"]);
    assert_eq!(tables(&format!("mysql://app@127.0.0.1:{port}")), ["other/t", "tpcw/t"]);
    // Where its process is not here, so are its files.
    let data = home.path().join("sandboxes/a");
    let pid_files: Vec<_> =
        std::fs::read_dir(&data).expect("a folder").flatten().map(|file| file.path()).collect();
    for file in pid_files.iter().filter(|path| path.extension().is_some_and(|end| end == "pid")) {
        std::fs::rename(file, file.with_extension("away")).expect("a name");
    }
    let mut away = command(home.path(), &["layout", &format!("mysql://app@127.0.0.1:{port}/tpcw")]);
    let output = away.env("EVENKEEL_PASSWORD", "secret").output().expect("it runs");
    assert!(ended(&output, 2).1.contains("does not run on this machine"));
}

#[test]
fn a_stopped_mysql_names_its_indexes_and_knows_the_types_of_its_pages() {
    let Ok(program) = servers::root().join("mysql-9.7/usr/sbin/mysqld").canonicalize() else {
        return left_out("mysql-9.7 is missing: make servers");
    };
    let home = Home::up(&["--server-binary", program.to_str().expect("UTF-8")]);
    let sql = "CREATE DATABASE tpcw; USE tpcw; CREATE TABLE plain (id INT PRIMARY KEY, v INT, KEY by_v (v)); \
               CREATE TABLE parted (id INT PRIMARY KEY, v INT, KEY by_v (v)) PARTITION BY HASH (id) PARTITIONS 2; \
               CREATE TABLE docs (id INT PRIMARY KEY, body LONGTEXT); INSERT INTO docs VALUES (1, REPEAT('x', 200000)); \
               CREATE TABLE packed (id INT PRIMARY KEY, v VARCHAR(300)) COMPRESSION = 'zlib'; \
               INSERT INTO packed VALUES (1, REPEAT('x', 300))";
    done(home.path(), &["sandbox", "shell", "a", "--", "-e", sql]);
    let running = evenkeel(home.path(), &["layout", "sandbox:a", "--json", "--table", "parted"]);
    let running: Vec<Value> = serde_json::from_str(&ended(&running, 0).0).expect("JSON");
    done(home.path(), &["sandbox", "down", "a"]);
    let data = home.path().join("sandboxes/a/data/tpcw");
    let of = |file: &str| layout(home.path(), &[data.join(file).to_str().expect("UTF-8")]);
    let names = |files: &[Value]| indexes(files).into_keys().collect::<Vec<_>>();
    let both = |table: &str| ["PRIMARY", "by_v"].map(|index| (format!("tpcw/{table}"), index.to_owned()));
    assert_eq!(names(&of("plain.ibd")), both("plain"));
    let parts = [both("parted#p#p0"), both("parted#p#p1")].concat();
    assert_eq!(names(&layout(home.path(), &["sandbox:a", "--table", "parted"])), parts);
    assert_eq!(names(&running), parts);
    let docs = &of("docs.ibd")[0];
    assert!(
        docs["page_types"]["Other type of page"].is_null() && docs["page_types"]["LOB first page"] == 1,
        "{docs}"
    );
    assert_eq!(
        (&docs["page_types"]["SDI Index page"], docs["outside_pages"].as_u64() > Some(12)),
        (&Value::from(1), true)
    );
    let packed = ends(home.path(), &["layout", data.join("packed.ibd").to_str().expect("UTF-8")], 2);
    assert!(packed.contains("compressed pages (page compression)"), "{packed}");
}
