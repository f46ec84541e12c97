//! Pages of real servers: what the ways in leave behind, stopped and running, shared and not, copied, and as innochecksum counts them.

use crate::cli::{ended, evenkeel, refused};
use crate::left_out::left_out;
use crate::sandbox::done;
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
    assert!(held.contains("a server (process ") && held.contains("--dry-run"), "{held}");
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
