//! A file that is written to or replaced while its records go to day tables: nothing of it goes away unloaded.

use super::Site;
use crate::cli::ended;
use evenkeel_site::server::Control;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process::Child;

/// A site whose day table is there, so that who locks it holds up the next dispatch.
fn site_with_a_day() -> (Site, String) {
    let site = Site::up();
    site.arrive("a.cdr", "20260801", (1, 1_000), "none");
    let done = site.server.path("done");
    site.once(&["--done", &done], 0);
    (site, done)
}

/// Begins with the second file and waits until it is loaded while its dispatch is held up.
fn held_up(site: &Site, done: &str) -> (Child, Control) {
    let mut control = site.server.control();
    // The dispatch waits for that table; load and audit do not.
    control.exec("LOCK TABLES calls_20260801 READ").expect("a lock");
    site.arrive("b.cdr", "20260801", (1_001, 1_000), "none");
    let child = site.watch(&["--once", "--done", done]);
    site.await_done(2);
    (child, control)
}

fn released(child: Child, mut control: Control, code: i32) -> (String, String) {
    control.exec("UNLOCK TABLES").expect("an end");
    ended(&child.wait_with_output().expect("an end"), code)
}

fn bytes(path: PathBuf) -> u64 {
    path.metadata().expect("a file").len()
}

#[test]
fn what_is_appended_during_the_dispatch_is_loaded_before_the_file_is_put_away() {
    let (site, done) = site_with_a_day();
    let more = fs::read(site.make("more", "20260801", (2_001, 500), "none")).expect("records");
    let (child, control) = held_up(&site, &done);
    let mut file = OpenOptions::new().append(true).open(site.path("b.cdr")).expect("a file");
    file.write_all(&more).expect("written");
    drop(file);
    let (lines, told) = released(child, control, 0);
    assert!(told.contains("b.cdr was changed or replaced after it was loaded; it stays"), "{told}");
    assert_eq!(lines.matches("b.cdr: ").count(), 2, "{lines}");
    site.expect("appended", 2_500);
    assert!(!site.path("b.cdr").exists());
    assert_eq!(bytes(PathBuf::from(done).join("b.cdr")), 3 * more.len() as u64);
}

#[test]
fn a_file_that_took_the_name_during_the_dispatch_is_not_put_away_for_the_one_that_was_loaded() {
    let (site, done) = site_with_a_day();
    let other = site.make("other", "20260801", (5_001, 700), "none");
    let (child, control) = held_up(&site, &done);
    let size = bytes(other.clone());
    fs::rename(other, site.path("b.cdr")).expect("the same file system");
    // Under the name of a file that is in there is another one, which is named and stays.
    let (lines, _) = released(child, control, 1);
    assert!(lines.contains("b.cdr: refused, left where it is"), "{lines}");
    site.expect("replaced", 2_000);
    assert_eq!(bytes(site.path("b.cdr")), size);
    assert!(!PathBuf::from(done).join("b.cdr").exists());
}
