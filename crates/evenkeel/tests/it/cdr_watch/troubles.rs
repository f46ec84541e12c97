//! What goes wrong: kills, half files, bad files, a server that is away.

use super::{Site, signalled};
use crate::cli::{found, kill};
use crate::sandbox::done;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

#[test]
fn a_watch_that_is_killed_in_the_middle_goes_on_where_it_was() {
    let site = Site::up();
    let flags = ["--transaction", "1M"];
    for number in 0..4 {
        site.arrive(&format!("{number}.cdr"), "20260801", (1 + number * 20_000, 20_000), "late=0.2");
    }
    for round in 0..6u64 {
        let child = site.watch(&flags);
        std::thread::sleep(Duration::from_millis(300 + 170 * round));
        kill(child);
    }
    site.once(&flags, 0);
    site.expect("kills", 80_000);
    assert_eq!(site.server.count("calls"), 0);
}

#[test]
fn a_file_that_is_still_written_is_left_alone_until_it_is_whole() {
    let site = Site::up();
    let made = fs::read(site.make("a.cdr", "20260801", (1, 4_000), "none")).expect("records");
    let child = site.watch(&["--settle", "1s"]);
    let mut file = File::create(site.path("a.cdr")).expect("a file");
    for piece in made.chunks(made.len() / 8) {
        file.write_all(piece).expect("written");
        std::thread::sleep(Duration::from_millis(200));
        let begun = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME = 'calls'";
        assert_eq!(site.server.value(begun), "0");
    }
    site.await_done(1);
    site.await_empty();
    let (_, told) = signalled(child, "-TERM", 143);
    assert!(!told.contains("error"), "{told}");
    site.expect("whole", 4_000);
}

#[test]
fn a_trigger_that_changes_records_is_refused_before_any_is_stored() {
    let site = Site::up();
    site.server.create("calls");
    site.server
        .exec("CREATE TRIGGER upper BEFORE INSERT ON calls FOR EACH ROW SET NEW.called = UPPER(NEW.called)");
    site.arrive("a.cdr", "20260801", (1, 100), "none");
    let (_, told) = site.once(&[], 2);
    assert!(told.contains("trigger upper overwrites calls.called") && told.contains("--no-audit"), "{told}");
    assert_eq!(site.server.count("calls"), 0);
    site.once(&["--no-audit"], 0);
    site.expect("without an audit", 100);
}

#[test]
fn a_bad_file_is_named_once_and_left_and_the_others_are_done() {
    let site = Site::up();
    site.arrive("a.cdr", "20260801", (1, 1_000), "none");
    // It breaks in its middle, so that some of it is sent before that is known.
    let made = fs::read(site.make("b.cdr", "20260801", (500_001, 20_000), "none")).expect("records");
    let mut packed = zstd_of(&made);
    packed.truncate(packed.len() / 2);
    fs::write(site.path("b.cdr.zst"), packed).expect("a file");
    site.arrive("c.cdr", "20260802", (1_001, 1_000), "late=0.1");
    let flags = ["--transaction", "1M", "--duplicates", "keep"];
    let (lines, told) = site.once(&flags, 1);
    assert_eq!(lines.matches("b.cdr.zst: refused, left where it is").count(), 1, "{lines}{told}");
    assert!(lines.contains("a.cdr: 1,000 records") && lines.contains("c.cdr: 1,000 records"), "{lines}");
    fs::remove_file(site.path("b.cdr.zst")).expect("it is left where it was");
    assert_eq!(site.once(&flags, 0).0, "");
    // The same name with other records is named, and stays where it is.
    site.arrive("a.cdr", "20260801", (700_001, 1_000), "none");
    let (lines, _) = site.once(&[], 1);
    assert!(lines.starts_with("a.cdr: refused, left where it is") && lines.contains("hint:"), "{lines}");
    assert!(site.path("a.cdr").exists());
}

#[test]
fn a_file_of_which_every_record_is_refused_stays_also_after_a_restart() {
    let site = Site::up();
    fs::write(site.path("README"), "no records\n").expect("a file");
    site.arrive("a.cdr", "20260801", (1, 100), "none");
    for _ in 0..3 {
        let (lines, told) = site.once(&["--done", &site.server.path("done")], 1);
        let refused = "README: refused, left where it is";
        assert!(lines.matches(refused).count() == 1 && site.path("README").exists(), "{lines}{told}");
    }
    site.expect("beside it", 100);
}

/// A frame of zstd whose blocks are raw.
fn zstd_of(bytes: &[u8]) -> Vec<u8> {
    // Magic; a descriptor without checksum and size; a window of a megabyte.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x50];
    let mut blocks = bytes.chunks(100_000).peekable();
    while let Some(block) = blocks.next() {
        let head = (block.len() << 3 | usize::from(blocks.peek().is_none())) as u32;
        frame.extend_from_slice(&head.to_le_bytes()[..3]);
        frame.extend_from_slice(block);
    }
    frame
}

#[test]
fn a_server_that_is_killed_is_waited_for_and_what_was_cut_goes_on() {
    let site = Site::up();
    let child = site.watch(&["--transaction", "1M"]);
    site.arrive("0.cdr", "20260801", (1, 20_000), "late=0.2");
    site.await_done(1);
    site.arrive("1.cdr", "20260801", (20_001, 20_000), "late=0.2");
    found("a file that is begun", || {
        site.server.control().query_value("SELECT 1 FROM evenkeel_loads HAVING COUNT(*) > 1").ok().flatten()
    });
    site.server.kill();
    std::thread::sleep(Duration::from_secs(1));
    site.server.start();
    site.await_done(2);
    site.await_empty();
    let (_, told) = signalled(child, "-TERM", 143);
    assert!(told.matches("waiting until it is there again").count() == 1, "{told}");
    assert!(told.contains("the server is there again"), "{told}");
    site.expect("a restart of the server", 40_000);
}

#[test]
fn the_name_of_a_file_makes_no_second_line_and_its_rejects_are_found_by_an_audit() {
    let site = Site::up();
    let made = fs::read(site.make("made.cdr", "20260801", (1, 500), "nul=0.02")).expect("records");
    fs::write(site.path("a\nforged.cdr: 9 records.zst"), zstd_of(&made)).expect("a file");
    let (lines, told) = site.once(&[], 0);
    assert_eq!(lines.lines().count(), 1, "{lines}{told}");
    assert!(lines.contains("forged.cdr: 9 records.zst: 500 records"), "{lines}");
    let [folder, rejects] = ["in", "rejects"].map(|name| site.server.path(name));
    let layout = site.server.layout();
    let words = ["cdr", "audit", "sandbox:a", &folder, "--table", "calls*", "--rejects", &rejects];
    let said = done(site.server.home(), &[&words[..], &["--layout", &layout]].concat());
    assert!(said.contains(" rejected: each once\n"), "{said}");
}

#[test]
fn a_name_that_is_no_text_is_loaded_and_one_that_is_too_long_holds_nobody_up() {
    let site = Site::up();
    let odd = site.path("x").with_file_name(OsStr::from_bytes(b"caf\xe9.cdr"));
    fs::rename(site.make("one", "20260801", (1, 500), "none"), odd).expect("the same file system");
    let long = site.path(&format!("{}.cdr", "n".repeat(246)));
    fs::rename(site.make("two", "20260801", (1_001, 500), "none"), long).expect("the same");
    site.arrive("z.cdr", "20260801", (2_001, 500), "none");
    let (lines, told) = site.once(&[], 1);
    for done in ["caf\u{fffd}.cdr: 500 records", "z.cdr: 500 records", "refused, left where it is"] {
        assert!(lines.contains(done), "{lines}{told}");
    }
}

#[test]
fn a_server_that_forgets_what_it_committed_gets_no_file_that_is_put_away() {
    let site = Site::up();
    site.arrive("a.cdr", "20260801", (1, 100), "none");
    site.server.exec("SET GLOBAL innodb_flush_log_at_trx_commit = 0");
    let (_, told) = site.once(&["--done", &site.server.path("done")], 2);
    assert!(told.contains("lose the last second") && told.contains("or omit --done"), "{told}");
    assert!(site.path("a.cdr").exists());
    site.once(&[], 0);
    site.expect("without --done", 100);
}
