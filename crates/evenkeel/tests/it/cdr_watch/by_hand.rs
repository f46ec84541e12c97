//! The same steps by hand: load, dispatch, load, dispatch.

use super::Site;
use crate::cli::{asked, kill, unread};
use crate::patience::eventually;
use crate::sandbox::done;
use std::time::Duration;

const DISPATCH: [&str; 9] =
    ["cdr", "dispatch", "sandbox:a/cdr", "--table", "calls", "--by", "start", "--json", "--quiet"];

impl Site {
    fn dispatch(&self) -> (Option<i32>, String) {
        asked(self.server.home(), &DISPATCH)
    }
}

#[test]
fn the_next_file_is_loaded_once_the_first_was_dispatched_and_none_comes_twice() {
    let site = Site::up();
    let server = &site.server;
    for (number, day) in [(0, "20260801"), (1, "20260802"), (2, "20260803")] {
        let name = format!("made/{day}");
        site.make(day, day, (1 + number * 1_000, 1_000), "late=0.1");
        let found = server.json("calls", &[&name], &[]);
        assert_eq!(found["tally"]["records"], 1_000, "{day}");
        let (code, told) = site.dispatch();
        assert_eq!(code, Some(0), "{told}");
        assert_eq!(server.json("calls", &[&name], &[])["tally"]["records"], 0, "{day}");
        site.expect(day, 1_000 * (number + 1));
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
    assert!(told.contains("3500 rows were loaded") && told.contains("it has none, and 3000"), "{told}");
}

#[test]
fn a_dispatch_between_a_cut_load_and_its_rerun_neither_loses_nor_doubles() {
    let site = Site::up();
    let server = &site.server;
    let flags = ["--transaction", "1M", "--no-audit"];
    site.make("first", "20260801", (1, 60_000), "late=0.2");
    let mut load = server.begin("calls", &["made/first"], &flags);
    server.wait_for_parts(2);
    assert!(load.try_wait().expect("a child").is_none(), "it was done before it was killed");
    kill(load);
    let clients = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND USER NOT LIKE 'system%'";
    eventually("the end of the killed one's statements", || server.value(clients) == "0");
    let (code, told) = site.dispatch();
    assert_eq!(code, Some(0), "{told}");
    server.load("calls", &["made/first"], &flags);
    // The load of the next one comes between both halves of a dispatch.
    let dispatch = unread(server.home(), &DISPATCH);
    std::thread::sleep(Duration::from_millis(200));
    kill(dispatch);
    eventually("the end of the killed one's statements", || server.value(clients) == "0");
    site.make("more", "20260809", (60_001, 10), "none");
    assert_eq!(server.json("calls", &["made/more"], &[])["tally"]["records"], 10);
    let (code, told) = site.dispatch();
    assert_eq!(code, Some(0), "{told}");
    site.expect("cut", 60_010);
    assert_eq!(server.count("calls"), 0);
    assert_eq!(server.json("calls", &["made/first", "made/more"], &flags)["tally"]["records"], 0);
}
