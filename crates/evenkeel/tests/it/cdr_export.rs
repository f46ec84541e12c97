//! Tables as files, as a user exports them: of one instant, loaded again as they were, and found out where they are not.

use crate::cdr_scene::Scene;
use crate::cli::{asked, ends, evenkeel, found, kill, refused, text, unread, words};
use crate::sandbox::done;
use evenkeel_core::random::{Random, Seed};
use evenkeel_site::server::{Address, Control, Target};
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// With two tables of 300,000 rows.
fn scene() -> (Scene, PathBuf) {
    let mut scene = Scene::of_calls();
    scene.exec("CREATE TABLE a (id INT PRIMARY KEY, amount BIGINT NOT NULL) AS SELECT seq AS id, 100 AS amount FROM seq_1_to_300000");
    scene.exec("CREATE TABLE b LIKE a");
    scene.exec("INSERT INTO b SELECT * FROM a");
    let into = scene.home().join("out");
    (scene, into)
}

fn export(scene: &Scene, into: &Path, words: &[&str]) -> Vec<Value> {
    let head = ["cdr", "export", "sandbox:a/calls", "--into", into.to_str().expect("UTF-8"), "--json"];
    tables(&done(scene.home(), &[&head[..], words].concat()))
}

fn tables(json: &str) -> Vec<Value> {
    let found: Value = serde_json::from_str(json).expect("JSON");
    found["manifest"]["tables"].as_array().expect("tables").clone()
}

fn check(scene: &Scene, into: &Path) -> (Option<i32>, String) {
    asked(scene.home(), &["cdr", "audit", "sandbox:a/calls", "--export", into.to_str().expect("UTF-8")])
}

fn files(table: &Value, into: &Path) -> Vec<PathBuf> {
    let files = table["files"].as_array().expect("files").iter();
    files.map(|file| into.join(file["name"].as_str().expect("a name"))).collect()
}

/// Tables among which amounts move, each read by a connection of its own.
const TABLES: usize = 24;
const FEW: u64 = 500;

fn moving_scene() -> Scene {
    let mut scene =
        Scene::with(evenkeel_haul::generate::LAYOUT, &["--set", "innodb_flush_log_at_trx_commit=0"]);
    for table in 0..TABLES {
        scene.exec(&format!(
            "CREATE TABLE t{table:02} (id INT PRIMARY KEY, amount BIGINT NOT NULL) AS SELECT seq AS id, 100 AS amount FROM seq_1_to_{FEW}"
        ));
    }
    scene
}

fn move_amounts(target: &Target, over: &AtomicBool, seed: u64) {
    let mut control = Control::connect(target).expect("a connection");
    let mut random = Random::new(Seed(seed));
    while !over.load(Ordering::Relaxed) {
        let (from, to) = (random.uniform(0, TABLES as u64 - 1), random.uniform(0, TABLES as u64 - 1));
        let (one, other) = (random.uniform(1, FEW), random.uniform(1, FEW));
        if from < to {
            let sql = format!(
                "UPDATE t{from:02} x, t{to:02} y SET x.amount = x.amount - 1, y.amount = y.amount + 1 WHERE x.id = {one} AND y.id = {other}"
            );
            control.exec(&sql).expect("moved");
        }
    }
}

/// Exports all tables while amounts move among them, and adds up what the files say: only one instant has the right sum.
fn export_while_amounts_move(scene: &Scene) {
    let (over, into) = (AtomicBool::new(false), scene.home().join("moved"));
    let exported = std::thread::scope(|scope| {
        let (target, over) = (scene.control.target(), &over);
        (1..=3).for_each(|seed| drop(scope.spawn(move || move_amounts(target, over, seed))));
        let line = format!("cdr export sandbox:a/calls --table t* --into {} --json", into.display());
        let output = evenkeel(scene.home(), &words(&format!("{line} --connections {TABLES}")));
        over.store(true, Ordering::Relaxed);
        let (said, told) = text(&output);
        assert!(output.status.success(), "{told}");
        tables(&said)
    });
    let (mut sum, mut moved) = (0, false);
    for table in &exported {
        for line in fs::read_to_string(&files(table, &into)[0]).expect("lines").lines() {
            let amount: i64 = line.split(';').nth(1).expect("two fields").parse().expect("a number");
            (sum, moved) = (sum + amount, moved || amount != 100);
        }
    }
    assert!(moved, "nothing was moved before the export");
    assert_eq!(sum, 100 * (TABLES as u64 * FEW) as i64);
    fs::remove_dir_all(into).expect("a folder");
}

#[test]
fn all_connections_see_one_instant_while_amounts_go_from_table_to_table() {
    let scene = moving_scene();
    for _ in 0..5 {
        export_while_amounts_move(&scene);
    }
}

#[test]
fn all_values_come_back_by_load_data_and_a_change_on_either_side_is_found() {
    let (mut scene, into) = scene();
    scene.exec(
        "CREATE TABLE odd (word VARCHAR(40) CHARACTER SET latin1, raw VARBINARY(20), single FLOAT, twice DOUBLE, flag BIT(12), \
         at TIMESTAMP(3) NULL, plus INT AS (1 + 1))",
    );
    scene.exec("INSERT INTO odd (word, raw, single, twice, flag, at) VALUES \
        ('a;b\\\\c\\nd\\re\\0', 0x00ff0a0d3b5c4e, 0.1, 0.1, b'101', '2026-08-01 12:00:00.125'), (NULL, NULL, NULL, NULL, NULL, NULL), \
        ('\\\\N', '', 16777216, 1e300, b'0', '2026-01-01 00:00:00'), ('caf\u{e9}', 'N', -1.5, -0.0, b'111', NULL), ('', '\\\\', 3e-5, 3, b'1', NULL)");
    let exported = export(&scene, &into, &["--table", "odd", "--table", "a", "--connections", "1"]);
    let odd = &exported[1];
    scene.exec("CREATE TABLE again LIKE odd");
    scene.exec("SET time_zone = '+00:00'");
    let columns = odd["columns"].as_array().expect("columns").iter();
    let columns: Vec<&str> = columns.map(|column| column.as_str().expect("a name")).collect();
    let sql = format!(
        "LOAD DATA LOCAL INFILE 'x' INTO TABLE again CHARACTER SET utf8mb4 FIELDS TERMINATED BY ';' ESCAPED BY '\\\\' ({})",
        columns.join(",")
    );
    let file = File::open(&files(odd, &into)[0]).expect("lines");
    assert_eq!(scene.control.load_data_local(&sql, file).expect("loaded"), 5);
    let differ = "SELECT COUNT(*) FROM ((SELECT *, BINARY word FROM odd EXCEPT SELECT *, BINARY word FROM again) UNION ALL \
        (SELECT *, BINARY word FROM again EXCEPT SELECT *, BINARY word FROM odd)) d";
    assert_eq!(scene.control.query_value(differ).expect("an answer").as_deref(), Some("0"));

    let (code, text) = check(&scene, &into);
    assert_eq!(code, Some(0), "{text}");
    scene.exec("UPDATE a SET amount = amount + 1 WHERE id = 77");
    let (code, text) = check(&scene, &into);
    assert!(code == Some(1) && text.contains("a: as many rows, but some values differ"), "{text}");
    scene.exec("UPDATE a SET amount = amount - 1 WHERE id = 77");
    scene.exec("DELETE FROM a WHERE id = 5");
    assert!(check(&scene, &into).1.contains("a: 299999 rows, and 300000 were exported"));
    scene.exec("INSERT INTO a VALUES (5, 100)");
    assert_eq!(check(&scene, &into).0, Some(0));

    let first = &files(&exported[0], &into)[0];
    let bytes = fs::read(first).expect("lines");
    let mut other = bytes.clone();
    other[2] = b'9';
    for (changed, expected) in [
        (other, "the checksum is another one"),
        ([&bytes[..], b"1;100\n"].concat(), "300001 lines, and 300000"),
        (bytes[..bytes.len() - 1].to_vec(), "bytes, and"),
    ] {
        fs::write(first, changed).expect("written");
        let (code, text) = check(&scene, &into);
        assert!(code == Some(1) && text.contains("a.0001.csv: ") && text.contains(expected), "{text}");
    }
    fs::remove_file(first).expect("removed");
    assert!(check(&scene, &into).1.contains("a.0001.csv: it is missing"));
}

#[test]
fn a_killed_export_leaves_no_folder_under_its_name_and_a_folder_with_files_is_not_touched() {
    let (mut scene, into) = scene();
    let folder = into.to_str().expect("UTF-8");
    let words = ["cdr", "export", "sandbox:a/calls", "--table", "?", "--into", folder, "--connections", "2"];
    let mut child = unread(scene.home(), &words);
    let hidden = scene.home().join(".out.evenkeel-part");
    let begun = || hidden.read_dir().is_ok_and(|mut entries| entries.next().is_some());
    while !begun() && child.try_wait().expect("a child").is_none() {
        std::thread::yield_now();
    }
    kill(child);
    // Where it was over before the kill.
    if into.exists() {
        fs::remove_dir_all(&into).expect("a folder");
    }
    let first = export(&scene, &into, &["--table", "?"]);
    assert!(first.len() == 2 && !hidden.exists() && into.join("export.json").exists());
    assert_eq!(check(&scene, &into).0, Some(0));
    // Neither the same tables nor those of another database take its place.
    scene.exec("CREATE DATABASE other");
    scene.exec("CREATE TABLE other.a AS SELECT seq AS id FROM seq_11_to_20");
    for database in ["sandbox:a/calls", "sandbox:a/other"] {
        let text = refused(scene.home(), &["cdr", "export", database, "--table", "a", "--into", folder]);
        assert!(text.contains("out exists already") && text.contains("hint: name a new folder"), "{text}");
    }
    assert_eq!(check(&scene, &into).0, Some(0));
    fs::write(into.join("export.json"), "{").expect("written");
    let text = refused(scene.home(), &["cdr", "audit", "sandbox:a/calls", "--export", folder]);
    assert!(text.contains("export.json: ") && text.contains("hint: export the tables again"), "{text}");
}

fn url(target: &Target, user: &str) -> String {
    match &target.address {
        Address::Unix(path) => format!("mysql://{user}@/calls?socket={}", path.display()),
        address => format!("mysql://{user}@{address}/calls"),
    }
}

#[test]
fn without_the_privilege_to_lock_one_connection_is_one_instant_and_a_table_without_snapshots_is_told() {
    let (mut scene, into) = scene();
    scene.exec("CREATE USER reader");
    scene.exec("GRANT SELECT ON calls.* TO reader");
    scene.exec("CREATE TABLE m ENGINE=MyISAM AS SELECT * FROM a LIMIT 100");
    let reader = url(scene.control.target(), "reader");
    let folder = into.to_str().expect("UTF-8");
    let head = ["cdr", "export", &reader, "--table", "a", "--table", "b", "--into", folder];
    let text = refused(scene.home(), &head);
    assert!(text.contains("cannot share a snapshot") && text.contains("hint: grant RELOAD"), "{text}");
    assert!(!into.exists() && !scene.home().join(".out.evenkeel-part").exists());
    let text = done(scene.home(), &[&head[..], &["--connections", "1"]].concat());
    assert!(text.contains("a: 300,000 rows") && text.contains("b: 300,000 rows"), "{text}");
    let into = scene.home().join("m").display().to_string();
    let text = done(scene.home(), &["cdr", "export", "sandbox:a/calls", "--table", "m", "--into", &into]);
    assert!(text.contains("m: 100 rows") && text.contains("its engine has no snapshots"), "{text}");
}

fn words_again(into: &Path) -> [&str; 5] {
    ["cdr", "load", "sandbox:a/again", "--export", into.to_str().expect("UTF-8")]
}

fn value(scene: &mut Scene, sql: &str) -> String {
    scene.control.query_value(sql).expect("an answer").unwrap_or_default()
}

/// Rows of one table that the other one has not got, either way.
fn differ(scene: &mut Scene, table: &str) -> String {
    let (one, other) = (format!("SELECT * FROM calls.{table}"), format!("SELECT * FROM again.{table}"));
    let sql = format!("SELECT COUNT(*) FROM (({one} EXCEPT {other}) UNION ALL ({other} EXCEPT {one})) d");
    value(scene, &sql)
}

#[test]
fn tables_are_made_and_filled_again_and_a_rerun_knows_what_is_in() {
    let (mut scene, into) = scene();
    scene.exec(
        "CREATE TABLE odd (id INT AUTO_INCREMENT PRIMARY KEY, word VARCHAR(40), at TIMESTAMP NULL, day DATE)",
    );
    scene.exec("SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO'");
    scene.exec("INSERT INTO odd VALUES (0, 'a;b\\\\c\\nd', '2026-08-01 12:00:00', '0000-00-00'), (7, NULL, NULL, NULL)");
    export(&scene, &into, &["--table", "a", "--table", "odd"]);
    let text = done(scene.home(), &words_again(&into));
    assert!(text.contains("a: 300,000 rows\n") && text.contains("odd: 2 rows\n"), "{text}");
    assert!(text.contains("the rows in the tables are those that were exported"), "{text}");
    assert_eq!((differ(&mut scene, "a"), differ(&mut scene, "odd")), ("0".into(), "0".into()));
    let again = done(scene.home(), &words_again(&into));
    assert!(again.contains("a: there already, as it was exported"), "{again}");
    // A table that is another one by now is nobody's to be filled.
    scene.exec("DELETE FROM again.odd WHERE id = 7");
    let text = refused(scene.home(), &words_again(&into));
    assert!(text.contains("odd is there and is not as it was exported: 1 rows") && text.contains("hint: "));
    assert_eq!(value(&mut scene, "SELECT COUNT(*) FROM again.odd"), "1");
}

#[test]
fn a_load_that_is_killed_leaves_no_table_under_its_name_and_a_rerun_brings_each_row_once() {
    for engine in ["InnoDB", "MyISAM"] {
        let (mut scene, into) = scene();
        scene.exec(&format!("ALTER TABLE b ENGINE={engine}"));
        export(&scene, &into, &["--table", "b"]);
        let all = words_again(&into);
        let child = unread(scene.home(), &all);
        found("a load that has begun", || {
            let begun = "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'again'";
            scene.control.query_value(begun).ok().flatten()
        });
        kill(child);
        let text = done(scene.home(), &all);
        assert!(text.contains("the rows in the tables are those that were exported"), "{text}");
        assert_eq!(differ(&mut scene, "b"), "0", "{engine}");
        assert_eq!(value(&mut scene, "SELECT COUNT(*) FROM again.b"), "300000", "{engine}");
        let tables = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'again'";
        assert_eq!(value(&mut scene, tables), "1", "{engine}: nothing else is left");
    }
}

#[test]
fn files_that_are_not_what_was_exported_are_refused_before_a_row_goes_in() {
    let (mut scene, into) = scene();
    let exported = export(&scene, &into, &["--table", "?"]);
    let last = files(&exported[1], &into).pop().expect("a file");
    let mut bytes = fs::read(&last).expect("lines");
    let end = bytes.len() - 2;
    bytes[end] ^= 1;
    fs::write(&last, bytes).expect("written");
    let text = refused(scene.home(), &words_again(&into));
    let name = last.file_name().expect("a name").to_string_lossy();
    assert!(text.contains(&*name) && text.contains("checksum is another one; nothing was loaded"), "{text}");
    let tables = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME = 'a'";
    assert_eq!(value(&mut scene, tables), "1");
}

#[test]
fn a_row_that_the_server_stores_otherwise_is_found_and_the_table_does_not_get_its_name() {
    let (mut scene, into) = scene();
    scene.exec("UPDATE a SET amount = 100000 WHERE id = 300000");
    export(&scene, &into, &["--table", "a"]);
    // Without the mode that refuses it, the server cuts a number that is too large.
    let manifest = into.join("export.json");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    fs::write(&manifest, text.replace("bigint(20)", "smallint")).expect("written");
    let text = ends(scene.home(), &words_again(&into), 1);
    assert!(text.contains("evenkeel_import_a: as many rows, but some values differ"), "{text}");
    let tables =
        "SELECT GROUP_CONCAT(TABLE_NAME) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'again'";
    assert_eq!(value(&mut scene, tables), "evenkeel_import_a");
}
