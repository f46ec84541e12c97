//! Rejects that come in after all: corrected by hand, or taken by another layout.

use super::Server;
use crate::cli::{borrowed, kill, unread};
use std::fs;
use std::process::Child;
use std::time::Duration;

const LAYOUT: &str = "key = ['id']\n[delimited]\nheader = true\n[[field]]\nname = 'id'\ntype = 'integer'\nwidth = 9\n\
    [[field]]\nname = 'who'\nwidth = 8\n[[field]]\nname = 'price'\ntype = 'decimal'\nwidth = 8\n";

/// A file of so many calls, loaded.
fn up(calls: u32) -> Server {
    let server = fresh(calls);
    server.load("calls", &["calls"], &["--max-rejects", "100%"]);
    server
}

/// A file of so many calls: of ten one has a decimal comma, of a hundred one a name that is too wide, and the last repeats the first.
fn fresh(calls: u32) -> Server {
    let server = Server::up(&[]);
    let call = |n: u32| {
        let price = if n.is_multiple_of(10) { "\"1,50\"" } else { "1.50" };
        let who = if n % 100 == 5 { "far too wide".to_owned() } else { format!("w{n}") };
        format!("{n},{who},{price}\n")
    };
    let lines: String = (1..=calls).map(call).collect();
    fs::write(server.path("calls"), format!("id,who,price\n{lines}1,w1,1.50\n")).expect("a file");
    fs::write(server.layout(), LAYOUT).expect("a layout");
    server
}

fn correct(server: &Server, from: &str, to: &str) -> String {
    let (rejects, fixed) = (server.path("calls.rejects"), server.path("fixed"));
    let text = fs::read_to_string(rejects).expect("rejects");
    fs::write(&fixed, text.replace(from, to)).expect("a file");
    fixed
}

#[test]
fn corrected_rejects_come_in_once_and_count_with_the_file_that_they_are_of() {
    let server = up(1_000);
    let fixed = correct(&server, "\"1,50\"", "1.50");
    let told = server.load("calls", &["calls"], &["--corrected", &fixed]);
    assert!(told.contains("111 rejects of") && told.contains("100 stored now, 11 still rejected"), "{told}");
    let balance = "1,001 records = 990 stored (100 of them corrected rejects) + 11 rejected: each once";
    assert!(told.contains(balance), "{told}");
    let (code, told) = server.asked(&server.words("calls", &["calls"], &["--corrected", &fixed]));
    assert!(code == Some(1) && told.contains("0 stored now, 11 still rejected"), "{told}");
    // The audit of the file says the same, by the rejects as they were and by the corrected ones.
    for rejects in [&server.path("calls.rejects"), &fixed] {
        let calls = server.path("calls");
        let flags = ["--layout", &server.layout(), "--table", "calls", "--rejects", rejects];
        let words = [&["cdr", "audit", "sandbox:a/cdr", &calls][..], &flags].concat();
        let told = crate::sandbox::done(server.home(), &words);
        assert!(told.contains(balance), "{told}");
    }
    server.exec("UPDATE calls SET price = 2 WHERE id = 500");
    let (code, told) = server.asked(&server.words("calls", &["calls"], &["--corrected", &fixed]));
    assert!(code == Some(1) && told.contains("id=500; price: file '1.50' table '2"), "{told}");
}

#[test]
fn corrections_in_the_file_of_rejects_outlast_every_load_that_writes_it_anew() {
    let server = fresh(1_000);
    let rejects = server.path("calls.rejects");
    let edit = |to: &str| {
        let text = fs::read_to_string(&rejects).expect("rejects").replace("\"1,50\"", to);
        fs::write(&rejects, &text).expect("a file");
        text
    };
    let (code, told) = server.asked(&server.words("calls", &["calls"], &[]));
    assert!(code == Some(1) && !told.contains(".before"), "{told}");
    let first = edit("1.50");
    let told = server.refused("calls", &["calls"], &["--corrected", &rejects]);
    assert!(told.contains("calls.rejects.before"), "{told}");
    // Still too many rejects; then all of them may be, and none of the two loads takes the name of what came before.
    let (code, told) = server.asked(&server.words("calls", &["calls"], &[]));
    let kept = format!("{rejects}.before");
    assert!(code == Some(1) && told.contains(&format!("{kept} is the file as it was")), "{told}");
    server.load("calls", &["calls"], &["--max-rejects", "100%"]);
    assert!(fs::read_to_string(&kept).expect("a file") == first);
    let told = server.load("calls", &["calls"], &["--corrected", &kept]);
    assert!(told.contains("100 stored now, 10 still rejected") && told.contains("each once"), "{told}");
    let second = edit("2.50");
    let (calls, layout) = (server.path("calls"), server.layout());
    let words = ["cdr", "unload", "sandbox:a/cdr", &calls, "--layout", &layout, "--table", "calls"];
    crate::sandbox::done(server.home(), &words);
    let told = server.load("calls", &["calls"], &["--max-rejects", "100%"]);
    let again = format!("{kept}.3");
    assert!(told.contains(&format!("{again} is the file as it was")), "{told}");
    assert!(fs::read_to_string(&kept).expect("a file") == first);
    assert!(fs::read_to_string(&again).expect("a file") == second);
}

#[test]
fn corrections_of_one_table_are_none_of_another_one_that_has_the_same_file() {
    let server = up(200);
    let fixed = correct(&server, "\"1,50\"", "1.50");
    server.load("calls", &["calls"], &["--corrected", &fixed]);
    for table in ["calls_test", "calls_2026"] {
        let told = server.load(table, &["calls"], &["--max-rejects", "100%"]);
        assert!(told.contains("201 records = 178 stored + 23 rejected: each once"), "{told}");
        let told = server.load(table, &["calls"], &["--corrected", &fixed]);
        assert!(told.contains("20 stored now, 3 still rejected") && told.contains("each once"), "{told}");
        let (calls, layout) = (server.path("calls"), server.layout());
        let words = ["cdr", "unload", "sandbox:a/cdr", &calls, "--layout", &layout, "--table", table];
        assert!(crate::sandbox::done(server.home(), &words).contains("198 rows taken out"));
    }
    assert_eq!(server.count("calls"), 198);
}

#[test]
fn a_layout_that_takes_more_brings_in_what_was_rejected_and_all_of_it_goes_out_again() {
    let server = up(1_000);
    let narrow = server.path("narrow.toml");
    fs::rename(server.layout(), &narrow).expect("a layout");
    fs::write(server.layout(), LAYOUT.replace("width = 8\n[[", "width = 20\n[[")).expect("a layout");
    server.exec("ALTER TABLE calls MODIFY who VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL");
    let told = server.refused("calls", &["calls"], &[]);
    assert!(
        told.contains("loaded by another layout, with 111 rejects") && told.contains("--corrected"),
        "{told}"
    );
    let rejects = server.path("calls.rejects");
    let told = server.load("calls", &["calls"], &["--corrected", &rejects]);
    assert!(told.contains("10 stored now, 101 still rejected") && told.contains("each once"), "{told}");
    server.exec("ALTER TABLE calls PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (500), PARTITION z VALUES LESS THAN MAXVALUE)");
    let words =
        ["cdr", "unload", "sandbox:a/cdr", &server.path("calls"), "--layout", &narrow, "--table", "calls"];
    assert!(crate::sandbox::done(server.home(), &words).contains("900 rows taken out"));
    assert_eq!((server.count("calls"), server.count("evenkeel_load_corrected")), (0, 0));
}

/// Waits until something is so; whether the child ended before.
fn eventually_or_done(child: &mut Child, is_so: impl Fn() -> bool) -> bool {
    while !is_so() {
        // The server counts anew ten times a second.
        std::thread::sleep(Duration::from_millis(120));
        if child.try_wait().expect("a child").is_some() {
            return true;
        }
    }
    false
}

#[test]
fn a_correction_that_is_killed_at_any_moment_loses_and_doubles_nothing() {
    let server = up(60_000);
    let fixed = correct(&server, "\"1,50\"", "1.50");
    let words = server.words("calls", &["calls"], &["--corrected", &fixed]);
    let trx = "SELECT COALESCE(MAX(trx_rows_modified), 0) FROM information_schema.INNODB_TRX";
    for table in ["calls", "evenkeel_load_corrected"] {
        let slow = "FOR EACH ROW SET @slept = SLEEP(0.0002)";
        server.exec(&format!("CREATE TRIGGER slow_{table} AFTER INSERT ON {table} {slow}"));
    }
    let mut met = 0;
    for rows in [1, 2_000, 5_900, 6_500, 9_000] {
        let mut child = unread(server.home(), &borrowed(&words));
        let is_done =
            eventually_or_done(&mut child, || server.value(trx).parse::<u64>().is_ok_and(|now| now >= rows));
        kill(child);
        met += usize::from(!is_done);
        let stored = server.count("calls") - 53_400;
        assert!([0, 6_000].contains(&stored), "{stored} of 6,000 after {rows} rows");
    }
    assert!(met >= 2, "only {met} kills met a transaction under way");
    // Where the last one was killed after its commit, this one stores nothing, which is a finding.
    let (_, told) = server.asked(&server.words("calls", &["calls"], &["--corrected", &fixed]));
    assert!(
        told.contains("59,400 stored (6,000 of them corrected rejects)") && told.contains("each once"),
        "{told}"
    );
}

#[test]
fn what_is_no_correction_of_the_file_is_refused_by_its_line() {
    let server = up(200);
    let fixed = server.path("fixed");
    let calls = server.path("calls");
    for (line, expected) in [
        (
            format!("{calls}\t13\tx\t1,w1,1\n{calls}\t13\tx\t1,w2,1\n"),
            "lines 1 and 2 are for the same record",
        ),
        (format!("{calls}\t14\tx\t1,w1,1\n"), "line 1: no record of"),
        ("other\t13\tx\t1,w1,1\n".to_owned(), "none of its 1 lines belongs to a given FILE"),
        (format!("{calls}\t13\tx\t1,Zoë,1\n"), "letters outside ASCII by their bytes, as \\xfc"),
    ] {
        fs::write(&fixed, &line).expect("a file");
        let told = server.refused("calls", &["calls"], &["--corrected", &fixed]);
        assert!(told.contains(expected) && told.contains("hint:"), "{line}: {told}");
    }
    // Records that are stored, one more than there are rejects.
    let (text, mut at) = (fs::read_to_string(&calls).expect("a file"), 0);
    let mut lines = Vec::new();
    for line in text.lines() {
        lines.push(format!("{calls}\t{at}\tx\t{line}\n"));
        at += line.len() + 1;
    }
    lines.retain(|line| line.ends_with(",1.50\n") && !line.contains("far"));
    fs::write(&fixed, lines[..24].concat()).expect("a file");
    let told = server.refused("calls", &["calls"], &["--corrected", &fixed]);
    assert!(told.contains("would add 24 records") && told.contains("only 23 are rejects"), "{told}");
    server.exec("ALTER TABLE calls DROP PRIMARY KEY");
    let told = server.refused("calls", &["calls"], &["--corrected", &fixed]);
    assert!(told.contains("calls has no unique index on the layout's key"), "{told}");
    fs::write(server.path("new"), "id,who,price\n").expect("a file");
    server.exec("ALTER TABLE calls ADD UNIQUE (id)");
    let told = server.refused("calls", &["new"], &["--corrected", &fixed]);
    assert!(told.contains("has not been loaded completely into calls"), "{told}");
}
