//! Tables of an export are loaded again, and compared with the checksums of the export.

use super::{Scene, export, files, scene};
use crate::cli::{ends, kill, refused, unread};
use crate::patience::found;
use crate::sandbox::done;
use std::fs;
use std::path::Path;

fn words(into: &Path) -> [&str; 5] {
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
    let text = done(scene.home(), &words(&into));
    assert!(text.contains("a: 300,000 rows\n") && text.contains("odd: 2 rows\n"), "{text}");
    assert!(text.contains("the rows in the tables are those that were exported"), "{text}");
    assert_eq!((differ(&mut scene, "a"), differ(&mut scene, "odd")), ("0".into(), "0".into()));
    let again = done(scene.home(), &words(&into));
    assert!(again.contains("a: there already, as it was exported"), "{again}");
    // A table that is another one by now is nobody's to be filled.
    scene.exec("DELETE FROM again.odd WHERE id = 7");
    let text = refused(scene.home(), &words(&into));
    assert!(text.contains("odd is there and is not as it was exported: 1 rows") && text.contains("hint: "));
    assert_eq!(value(&mut scene, "SELECT COUNT(*) FROM again.odd"), "1");
}

#[test]
fn a_load_that_is_killed_leaves_no_table_under_its_name_and_a_rerun_brings_each_row_once() {
    for engine in ["InnoDB", "MyISAM"] {
        let (mut scene, into) = scene();
        scene.exec(&format!("ALTER TABLE b ENGINE={engine}"));
        export(&scene, &into, &["--table", "b"]);
        let all = words(&into);
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
    let text = refused(scene.home(), &words(&into));
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
    let text = ends(scene.home(), &words(&into), 1);
    assert!(text.contains("evenkeel_import_a: as many rows, but some values differ"), "{text}");
    let tables =
        "SELECT GROUP_CONCAT(TABLE_NAME) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'again'";
    assert_eq!(value(&mut scene, tables), "evenkeel_import_a");
}
