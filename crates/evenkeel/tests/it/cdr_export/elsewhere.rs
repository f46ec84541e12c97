//! A folder that has an export of another database is not taken for one of this.

use super::{Scene, export, files, names};
use crate::cli::refused;
use crate::sandbox::done;
use serde_json::Value;
use std::fs;

#[test]
fn a_table_of_the_same_name_in_another_database_is_not_taken_for_the_one_that_was_exported() {
    let mut scene = Scene::of_calls();
    scene.exec("CREATE TABLE a AS SELECT seq AS id FROM seq_1_to_10");
    scene.exec("CREATE DATABASE other");
    scene.exec("CREATE TABLE other.a AS SELECT seq AS id FROM seq_11_to_20");
    let into = scene.home().join("out");
    let first = export(&scene, &into, &["--table", "a"]);
    let folder = into.to_str().expect("UTF-8");
    let words = ["cdr", "export", "sandbox:a/other", "--table", "a", "--into", folder];
    let manifest = into.join("a.export.json");
    let before = fs::read(&files(&first["tables"][0], &into)[0]).expect("lines");
    // Neither while the files are whole nor while one of them is gone.
    for is_whole in [true, false] {
        if !is_whole {
            fs::remove_file(&files(&first["tables"][0], &into)[0]).expect("removed");
        }
        let text = refused(scene.home(), &words);
        assert!(
            text.contains("a.export.json is of database calls at ")
                && text.contains("is of database other at ")
                && text.contains("nothing was written")
                && text.contains("hint: choose another folder"),
            "{text}"
        );
        assert!(manifest.exists());
    }
    fs::write(&files(&first["tables"][0], &into)[0], before).expect("written");
    // One that does not say where it is from is of nobody.
    let mut old: Value = serde_json::from_slice(&fs::read(&manifest).expect("a manifest")).expect("JSON");
    old.as_object_mut().expect("an object").remove("origin");
    fs::write(&manifest, old.to_string()).expect("written");
    let same = ["cdr", "export", "sandbox:a/calls", "--table", "a", "--into", folder];
    let text = refused(scene.home(), &same);
    assert!(text.contains("was written by an earlier version") && text.contains("hint: "), "{text}");
    let there = names(&into);
    fs::write(&manifest, "{").expect("written");
    assert!(refused(scene.home(), &same).contains("hint: move that file"));
    assert_eq!(names(&into), there, "nothing was taken away");
    // Without a manifest, a file with the name of an export's is somebody else's.
    fs::remove_file(&manifest).expect("removed");
    let text = refused(scene.home(), &words);
    assert!(text.contains("a.0001.csv is there already") && text.contains("hint: "), "{text}");
    fs::rename(into.join("a.0001.csv"), scene.home().join("mine.csv")).expect("moved away");
    let text = done(scene.home(), &words);
    assert!(text.contains("a: 10 rows") && !text.contains("whole before"), "{text}");
}

#[test]
fn nothing_of_a_table_is_taken_away_where_another_ones_file_is_somebody_elses() {
    let mut scene = Scene::of_calls();
    for table in ["a", "b"] {
        scene.exec(&format!("CREATE TABLE {table} AS SELECT seq AS id FROM seq_1_to_10"));
    }
    let into = scene.home().join("out");
    let first = export(&scene, &into, &["--table", "a"]);
    // What is there of the first table is not whole, so that it would be made anew.
    fs::write(&files(&first["tables"][0], &into)[0], "1").expect("written");
    fs::write(into.join("b.0001.csv"), "mine").expect("written");
    let there = names(&into);
    let folder = into.to_str().expect("UTF-8");
    let words = ["cdr", "export", "sandbox:a/calls", "--table", "a", "--table", "b", "--into", folder];
    let text = refused(scene.home(), &words);
    assert!(text.contains("b.0001.csv is there already") && text.contains("nothing was changed"), "{text}");
    assert_eq!(names(&into), there);
}
