//! The same steps by hand: load, dispatch, load, dispatch.

use super::Site;
use crate::cli::{asked, borrowed, kill, unread};
use crate::patience::eventually;
use crate::sandbox::done;
use evenkeel_core::random::{Random, Seed};
use std::time::Duration;

const DISPATCH: [&str; 9] =
    ["cdr", "dispatch", "sandbox:a/cdr", "--table", "calls", "--by", "start", "--json", "--quiet"];

impl Site {
    fn dispatch(&self) -> (Option<i32>, String) {
        asked(self.server.home(), &DISPATCH)
    }

    /// Runs it and kills it after a while.
    fn killed(&self, words: &[&str], after: Duration) {
        let child = unread(self.server.home(), words);
        std::thread::sleep(after);
        kill(child);
        let clients = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND USER NOT LIKE 'system%'";
        eventually("the end of the killed one's statements", || self.server.value(clients) == "0");
    }
}

#[test]
fn the_next_file_is_loaded_once_the_first_was_dispatched_and_none_comes_twice() {
    for engine in ["innodb", "myisam", "aria"] {
        let site = Site::up();
        let server = &site.server;
        for (number, day) in [(0, "20260801"), (1, "20260802"), (2, "20260803")] {
            let name = format!("made/{day}");
            site.make(day, day, (1 + number * 1_000, 1_000), "late=0.1");
            let found = server.json("calls", &[&name], &["--engine", engine]);
            assert_eq!(found["tally"]["records"], 1_000, "{engine} {day}");
            let (code, told) = site.dispatch();
            assert_eq!(code, Some(0), "{engine}: {told}");
            assert_eq!(server.json("calls", &[&name], &[])["tally"]["records"], 0, "{engine}");
            site.expect(&format!("{engine} {day}"), 1_000 * (number + 1));
        }
        let told = server.refused("calls", &["made/20260801"], &["--again"]);
        assert!(told.contains("are in day tables") && told.contains("hint:"), "{told}");
        done(server.home(), &["cdr", "retire", "sandbox:a/cdr", "--table", "calls", "--keep", "1d"]);
        let before = site.tables();
        let all = ["made/20260801", "made/20260802", "made/20260803"];
        assert_eq!(server.json("calls", &all, &[])["tally"]["records"], 0, "retired is known, too");
        assert_eq!(site.tables(), before);
        // What somebody removed is still missed.
        site.make("4", "20260804", (3_001, 500), "none");
        server.load("calls", &["made/4"], &[]);
        server.exec("TRUNCATE TABLE calls");
        let told = server.refused("calls", &["made/4"], &[]);
        assert!(told.contains("3500 rows were loaded into calls, which has none, and 3000"), "{told}");
    }
}

/// Loads and dispatches days whose steps are killed in the middle, and says how many dispatches refused a cut load.
fn trial(engine: &str) -> u64 {
    let site = Site::up();
    let (mut random, mut refused) = (Random::new(Seed(16).child(engine)), 0);
    let server = &site.server;
    // Kills are to meet the load, not the audit after it.
    let flags = ["--engine", engine, "--transaction", "1M", "--no-audit"];
    for number in 0..5u64 {
        let (name, first) = (format!("{number}"), 1 + number * 30_000);
        site.make(&name, &format!("2026080{}", number + 1), (first, 30_000), "late=0.2");
        let file = format!("made/{name}");
        let words = server.words("calls", &[&file], &flags);
        // Later and later, until one meets the load in its middle.
        for kill in 1..12 {
            site.killed(&borrowed(&words), Duration::from_secs_f64(0.06 * (f64::from(kill) + random.unit())));
            let begun = "SELECT COUNT(*) FROM evenkeel_loads WHERE state = 'begun'";
            let some =
                |sql: &str| server.control().query_value(sql).is_ok_and(|count| count != Some("0".into()));
            if some(begun) && some("SELECT COUNT(*) FROM calls") {
                break;
            }
        }
        let (code, told) = site.dispatch();
        if code == Some(2) {
            assert!(told.contains("was cut") || told.contains("there is no table"), "{told}");
            refused += u64::from(told.contains("cannot be told from others") && told.contains("hint:"));
        }
        server.load("calls", &[&file], &flags);
        site.killed(&DISPATCH, Duration::from_secs_f64(0.05 + 0.5 * random.unit()));
        if number % 2 == 0 {
            // The load of the next one comes in between.
            site.make(&format!("small{number}"), "20260809", (500_001 + number * 10, 10), "none");
            let more = server.json("calls", &[&format!("made/small{number}")], &["--engine", engine]);
            assert_eq!(more["tally"]["records"], 10);
        }
        let when = format!("{engine} {number}");
        let (code, told) = site.dispatch();
        assert_eq!(code, Some(0), "{when}: {told}");
        let count = (number + 1) * 30_000 + (number / 2 + 1) * 10;
        assert!(site.sums().starts_with(&format!("{count} {count} ")), "{when}: {}", site.sums());
        assert_eq!(server.count("calls"), 0, "{when}");
        for known in 0..=number {
            let again = server.json("calls", &[&format!("made/{known}")], &flags);
            assert_eq!(again["tally"]["records"], 0, "{when}: {known} is known");
        }
    }
    refused
}

#[test]
fn steps_that_are_killed_neither_lose_nor_double_with_transactions() {
    assert_eq!(trial("innodb"), 0);
}

#[test]
fn steps_that_are_killed_neither_lose_nor_double_without_transactions() {
    assert!(trial("myisam") > 0, "no load was cut in the middle");
}
