//! Files of an export go into tables again, and are held against the checksums of the export.

use super::{Scene, export, files, scene};
use crate::cli::{command, evenkeel, refused};
use crate::patience::found;
use crate::sandbox::done;
use std::fs;
use std::path::Path;
use std::process::Stdio;

fn words(into: &Path) -> [&str; 5] {
    ["cdr", "load", "sandbox:a/again", "--export", into.to_str().expect("UTF-8")]
}

/// Exit code, and what was said.
fn load(scene: &Scene, into: &Path) -> (Option<i32>, String) {
    let output = evenkeel(scene.home(), &words(into));
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
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
    let text = done(scene.home(), &words(&into));
    assert!(
        text.contains("a: new table, 300,000 rows of ") && text.contains("odd: new table, 2 rows of 1 file"),
        "{text}"
    );
    assert!(text.contains("the rows in the tables are those that were exported"), "{text}");
    assert_eq!((differ(&mut scene, "a"), differ(&mut scene, "odd")), ("0".into(), "0".into()));
    let again = done(scene.home(), &words(&into));
    assert!(again.contains("a: 0 rows of 0 files, ") && again.contains(" in before"), "{again}");
    // What is gone is missed, and is not loaded a second time by itself.
    scene.exec("TRUNCATE TABLE again.odd");
    let text = refused(scene.home(), &words(&into));
    assert!(text.contains("2 rows of this table odd were loaded before, and are gone"), "{text}");
}

#[test]
fn a_load_that_is_killed_goes_on_with_the_files_that_are_not_in() {
    for engine in ["InnoDB", "MyISAM"] {
        let (mut scene, into) = scene();
        scene.exec(&format!("ALTER TABLE b ENGINE={engine}"));
        export(&scene, &into, &["--table", "b", "--rows-per-file", "15000"]);
        let all = words(&into);
        let mut child = command(scene.home(), &all)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        found("a file that is in", || {
            let parts = "SELECT 1 FROM again.evenkeel_load_parts LIMIT 1";
            scene.control.query_value(parts).ok().flatten()
        });
        child.kill().expect("a signal");
        child.wait().expect("an end");
        let text = done(scene.home(), &all);
        assert!(text.contains("the rows in the tables are those that were exported"), "{text}");
        assert!(text.contains(" in before") || text.contains("all files begin again"), "{engine}: {text}");
        assert_eq!(differ(&mut scene, "b"), "0", "{engine}");
        assert_eq!(value(&mut scene, "SELECT COUNT(*) FROM again.b"), "300000", "{engine}");
    }
}

#[test]
fn files_that_are_not_what_was_exported_are_refused_before_a_row_goes_in() {
    let (mut scene, into) = scene();
    let exported = export(&scene, &into, &["--table", "?"]);
    let last = files(&exported["tables"][1], &into).pop().expect("a file");
    let mut bytes = fs::read(&last).expect("lines");
    let end = bytes.len() - 2;
    bytes[end] ^= 1;
    fs::write(&last, bytes).expect("written");
    let text = refused(scene.home(), &words(&into));
    let name = last.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(
        text.contains(&name) && text.contains("the checksum is another one; nothing was loaded"),
        "{text}"
    );
    assert_eq!(
        value(&mut scene, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME = 'a'"),
        "1"
    );
}

#[test]
fn a_row_that_the_server_stores_otherwise_is_named_by_file_and_keys() {
    let (mut scene, into) = scene();
    export(&scene, &into, &["--table", "a"]);
    scene.exec("CREATE DATABASE again");
    scene.exec("CREATE TABLE again.a LIKE a");
    scene.exec("CREATE TRIGGER again.t BEFORE INSERT ON again.a FOR EACH ROW SET NEW.amount = IF(NEW.id = 300000, 1, NEW.amount)");
    let (code, text) = load(&scene, &into);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains(
            "a: as many rows, and some have other values than were exported; different in id from "
        ),
        "{text}"
    );
    assert!(text.contains(" on (a.0") && text.contains("are not those that were exported"), "{text}");
    // Rows of others are nobody's to be mixed with.
    scene.exec("DROP DATABASE again");
    scene.exec("CREATE DATABASE again");
    scene.exec("CREATE TABLE again.a AS SELECT 1 AS id, 1 AS amount");
    let text = refused(scene.home(), &words(&into));
    assert!(
        text.contains("table a has 1 rows, and not of this export alone") && text.contains("hint: "),
        "{text}"
    );
}
