//! Whose a file of rejects is: no load takes the rejects of another one away.

use super::server::{Server, borrowed};
use crate::cli::{command, evenkeel, refused};
use std::fs;
use std::process::Stdio;

fn rejects(server: &Server, name: &str) -> String {
    fs::read_to_string(server.path(name)).expect("rejects")
}

/// The words of a load into a database, with its rejects there.
fn words(server: &Server, database: &str, rejects: &str) -> Vec<String> {
    let mut words = server.words("calls", &["calls"], &["--transaction", "1M"]);
    words[2] = format!("sandbox:a/{database}");
    let place = words.iter().position(|word| word == "--rejects").expect("a flag") + 1;
    words[place] = server.path(rejects);
    words
}

#[test]
fn a_load_into_another_database_or_table_leaves_the_rejects_of_the_first_one_alone() {
    let server = Server::up(&[]);
    server.control().exec("CREATE DATABASE other").expect("a database");
    server.generate("calls", 5_000, "all");
    server.load("calls", &["calls"], &[]);
    let before = rejects(&server, "calls.rejects");
    assert!(before.lines().count() > 10);
    let told = refused(server.home(), &borrowed(&words(&server, "other", "calls.rejects")));
    assert!(told.contains("calls.rejects has rejects of loads into calls of database cdr at "), "{told}");
    assert!(told.contains("hint: name another file by --rejects"), "{told}");
    assert_eq!(rejects(&server, "calls.rejects"), before);
    // With a file of its own it goes through, and so does the first one again.
    let output = evenkeel(server.home(), &borrowed(&words(&server, "other", "other.rejects")));
    assert!(output.status.success());
    assert_eq!(rejects(&server, "other.rejects"), before);
    server.load("calls", &["calls"], &[]);
    assert_eq!(rejects(&server, "calls.rejects"), before);
    // Rejects of which nobody knows whose they are stay as well.
    fs::rename(server.path("calls.rejects"), server.path("kept.rejects")).expect("the same file system");
    server
        .control()
        .exec("DROP TABLE other.calls, other.evenkeel_loads, other.evenkeel_load_parts")
        .expect("gone");
    let told = refused(server.home(), &borrowed(&words(&server, "other", "kept.rejects")));
    assert!(told.contains("nothing says whose they are"), "{told}");
    assert_eq!(rejects(&server, "kept.rejects"), before);
}

#[test]
fn two_loads_at_a_time_do_not_write_one_file_of_rejects() {
    let server = Server::up(&[]);
    server.control().exec("CREATE DATABASE other").expect("a database");
    server.generate("calls", 120_000, "all");
    let first = words(&server, "cdr", "calls.rejects");
    let mut child = command(server.home(), &borrowed(&first))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs");
    server.wait_for_parts(1);
    let told = refused(server.home(), &borrowed(&words(&server, "other", "calls.rejects")));
    let is_under_way = child.try_wait().expect("a child").is_none();
    assert!(child.wait().expect("an end").success());
    let expected =
        if is_under_way { "is being written by another process" } else { "has rejects of loads into" };
    assert!(told.contains(expected), "{told}");
}
