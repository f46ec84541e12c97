//! Records that come twice, over calls and kills.

use super::broken::killed;
use super::server::Server;
use std::fs;

/// Records in half a file.
const HALF: u64 = 60_000;

/// Reasons and places of the rejects of a table.
fn refused(server: &Server, table: &str) -> Vec<String> {
    let text = fs::read_to_string(server.path(&format!("{table}.rejects"))).expect("rejects");
    text.lines()
        .map(|line| line.rsplit_once('\t').expect("a record").0.replace(&server.path(""), ""))
        .collect()
}

#[test]
fn a_record_whose_first_was_stored_by_an_earlier_call_is_refused_where_its_file_is_named_again() {
    let server = Server::up(&[]);
    server.generate("calls", 3_000, "none");
    server.generate_from("new", 1_000, 3_001);
    let (calls, new) = (fs::read(server.path("calls")).expect("records"), fs::read(server.path("new")));
    let new = new.expect("records");
    // What repeats stands before what is new, in a file that is named before the one that is done.
    fs::write(server.path("mixed"), [&calls[200..600], &new].concat()).expect("records");
    server.load("calls", &["calls"], &[]);
    let found = server.json("calls", &["mixed", "calls"], &[]);
    assert_eq!((&found["tally"]["duplicates"], server.count("calls")), (&2.into(), 4_000));
    let expected = ["mixed\t0\tduplicate of calls:200", "mixed\t200\tduplicate of calls:400"];
    assert_eq!(refused(&server, "calls"), expected);
    // And in what a file has grown by.
    let grown = [&calls[..], &calls[..200]].concat();
    fs::write(server.path("calls"), grown).expect("records");
    let found = server.json("calls", &["calls"], &[]);
    assert_eq!((&found["tally"]["duplicates"], server.count("calls")), (&1.into(), 4_000));
    assert_eq!(refused(&server, "calls")[2], "calls\t600000\tduplicate of calls:0");
    // Without that file nobody but the server knows them.
    fs::write(server.path("late"), &calls[..200]).expect("records");
    let told = server.refused("calls", &["late"], &[]);
    assert!(
        told.contains("late:0: its key is in the table already") && server.count("calls") == 4_000,
        "{told}"
    );
}

#[test]
fn a_file_that_says_everything_twice_brings_each_record_once_whenever_its_loads_are_killed() {
    let server = Server::up(&[]);
    server.generate("once", HALF, "none");
    let once = fs::read(server.path("once")).expect("records");
    fs::write(server.path("calls"), [&once[..], &once[..]].concat()).expect("records");
    let flags = ["--transaction", "1M", "--connections", "2"];
    let mut kills = 0;
    // Twelve parts are the first half; later ones have nothing but what repeats.
    for parts in [3, 9, 14, 18] {
        kills += u32::from(killed(&server, "calls", &flags, parts));
    }
    assert!(kills >= 3, "only {kills} kills met a load under way");
    server.load("calls", &["calls"], &flags);
    assert_eq!(server.count("calls"), HALF);
    let (found, half) = (refused(&server, "calls"), once.len());
    let expected = (0..half).step_by(200).map(|at| format!("calls\t{}\tduplicate of calls:{at}", half + at));
    assert!(found == expected.collect::<Vec<_>>(), "{} rejects", found.len());
}
