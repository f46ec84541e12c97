//! Histories by the thousand, defects that can be planted, both sides saying whatever bytes they like; and what a session does with its permit
//! and with what is refused to it, as sentences.

mod trifles;

use super::harness::Harness;
use super::*;
use evenkeel_core::Nanos;
use evenkeel_guard::proxy::parts::Standing;
use evenkeel_guard::proxy::session::{Event, Side};
use evenkeel_wire::packet;
use proptest::collection::vec;
use proptest::prelude::*;
use std::path::Path;

#[test]
fn nothing_that_must_never_happen_does_in_millions_of_steps() {
    for seed in 1..=150 {
        let steps = play(seed).unwrap_or_else(|violation| panic!("{violation}"));
        assert!(steps >= STEPS, "only {steps} steps");
    }
    assert_eq!(play(7), play(7), "a seed is one history");
}

#[test]
fn each_defect_of_the_list_can_be_planted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let list: toml::Table = include_str!("mutations.toml").parse().unwrap();
    for edit in list["edit"].as_array().unwrap() {
        let text = |key: &str| edit[key].as_str().unwrap();
        let source = std::fs::read_to_string(root.join(text("file"))).unwrap();
        assert_eq!(source.matches(text("old")).count(), 1, "{}: {}", text("name"), text("old"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn whatever_both_sides_say_nothing_gets_past_a_session(data in vec(any::<u8>(), 0..2_000)) {
        bytes::play(&data);
    }
}

#[test]
fn whatever_sides_say_that_know_the_protocol_nothing_gets_past_a_session() {
    for seed in 1..=3_000 {
        bytes::play_seed(seed).unwrap_or_else(|violation| panic!("{violation}"));
    }
}

#[test]
fn captured_sessions_pass_whole_and_in_pieces() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/tests/relay/corpus");
    let (mut played, mut passed) = (0, 0);
    for folder in std::fs::read_dir(corpus).unwrap() {
        let path = folder.unwrap().path();
        let captured = std::fs::read(&path).unwrap();
        for piece in [1, 7, usize::MAX] {
            let mut harness = Harness::new(0);
            let (capabilities, mut rest) = captured.split_at(8);
            // Some of them begin with the login.
            if !path.to_string_lossy().contains("login") {
                harness.log_in("app", u32::from_le_bytes(capabilities[..4].try_into().unwrap()) | 1 << 9);
            }
            while let [direction, a, b, c, d, more @ ..] = rest {
                let (said, after) = more.split_at(u32::from_le_bytes([*a, *b, *c, *d]) as usize);
                let side = if *direction == 0 { Side::Client } else { Side::Server };
                said.chunks(piece.min(said.len()).max(1)).for_each(|piece| harness.says(side, piece));
                rest = after;
            }
            passed += harness.passed;
            harness.drop_session();
            played += 1;
        }
    }
    assert!(played >= 24 && passed > 10_000, "{played} sessions, {passed} bytes");
}

#[test]
fn thousands_of_refused_commands_in_one_read_are_refused_one_after_the_other() {
    // The stack of a guard's thread.
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(|| {
        // Nobody may wait, and somebody else has the only permit.
        let mut harness = Harness::new(1 << 2);
        harness.log_in("app", 0x000a_a288);
        harness.toggle_other();
        harness.says(Side::Client, &[1, 0, 0, 0, 3].repeat(3_200));
        assert_eq!(harness.passed, 0);
        harness.drop_session();
    });
    thread.unwrap().join().unwrap();
}

/// Local files, transactions, several statements and results; ends of rows as packets of their own.
const CAPABILITIES: u32 = 0x000a_a288;
const IN_TRANSACTION: u8 = 3;
const AT_REST: u8 = 2;

/// A session that is logged in, at a gate of one permit.
fn logged_in(choices: u8) -> Harness {
    let mut harness = Harness::new(choices);
    harness.log_in("app", CAPABILITIES);
    harness
}

fn says(harness: &mut Harness, sql: &str) {
    harness.says_packet(Side::Client, 0, &[b"\x03", sql.as_bytes()].concat());
}

/// A statement, and the server's OK to it after so many milliseconds.
fn runs(harness: &mut Harness, sql: &str, millis: u64, status: u8) {
    says(harness, sql);
    harness.waits(Nanos::from_millis(millis));
    harness.says_packet(Side::Server, 1, &[0, 0, 0, status, 0, 0, 0]);
}

#[test]
fn a_login_keeps_no_more_than_a_login_needs() {
    let mut harness = Harness::new(0);
    harness.greet();
    // Half a packet of 100 KB: as much of it as is sent would be kept until the login has taken too long.
    harness.says(Side::Client, &[&[0xa0, 0x86, 1, 1][..], &[7; 60_000]].concat());
    assert!(harness.told.windows(16).any(|words| words == b"not the protocol"), "{:?}", harness.told);
    harness.drop_session();
}

#[test]
fn commands_do_not_pass_as_a_file_that_the_server_gives_up() {
    let mut harness = logged_in(0);
    says(&mut harness, "LOAD DATA LOCAL INFILE 'x' INTO TABLE t");
    harness.says_packet(Side::Server, 1, b"\xfbx");
    // A server refuses a packet whose number is not due, reads no more of it than that, and goes on behind it.
    harness.says_packet(Side::Client, 9, b"\x02\0\0\0\x03x");
    assert!(harness.told.windows(16).any(|words| words == b"not the protocol"), "{:?}", harness.told);
    harness.drop_session();
}

/// Running in each lane, and aside.
fn places(harness: &Harness) -> ([usize; 2], usize) {
    let census = harness.census();
    (census.lanes.map(|lane| lane.running), census.aside)
}

#[test]
fn a_transaction_of_short_statements_without_end_moves_to_the_long_lane_to_its_end() {
    let mut harness = logged_in(0);
    runs(&mut harness, "BEGIN", 1, IN_TRANSACTION);
    (0..3).for_each(|_| runs(&mut harness, "SELECT a FROM t", 50, IN_TRANSACTION));
    assert_eq!(places(&harness), ([1, 0], 0), "it is short yet");
    (0..3).for_each(|_| runs(&mut harness, "SELECT a FROM t", 50, IN_TRANSACTION));
    assert_eq!(places(&harness), ([0, 1], 0));
    harness.waits(Nanos::from_millis(500));
    assert_eq!(places(&harness), ([0, 0], 1), "it pauses");
    says(&mut harness, "SELECT b FROM t");
    assert_eq!(places(&harness), ([0, 1], 0), "and goes on");
    harness.says_packet(Side::Server, 1, &[0, 0, 0, AT_REST, 0, 0, 0]);
    assert_eq!((harness.standing(), places(&harness)), (None, ([0, 0], 0)));
    says(&mut harness, "SELECT c FROM t");
    assert_eq!(places(&harness), ([1, 0], 0), "the next one begins anew");
    harness.drop_session();
}

#[test]
fn what_was_long_once_begins_in_the_long_lane() {
    let mut harness = logged_in(0);
    says(&mut harness, "SELECT a FROM t ORDER BY b");
    harness.waits(Nanos::from_millis(300));
    assert_eq!((places(&harness), harness.census().moved_total), (([0, 1], 0), 1));
    harness.says_packet(Side::Server, 1, &[0, 0, 0, AT_REST, 0, 0, 0]);
    says(&mut harness, "SELECT a FROM t ORDER BY b");
    assert_eq!(places(&harness), ([0, 1], 0));
    harness.drop_session();
}

#[test]
fn transactions_that_are_chained_without_end_move_to_the_long_lane() {
    let mut harness = logged_in(0);
    runs(&mut harness, "BEGIN", 1, IN_TRANSACTION);
    (0..10).for_each(|_| runs(&mut harness, "COMMIT AND CHAIN", 30, IN_TRANSACTION));
    assert_eq!(places(&harness), ([0, 1], 0));
    harness.drop_session();
}

#[test]
fn statements_that_each_stand_in_line_stay_short() {
    let mut harness = logged_in(0);
    (0..100).for_each(|_| runs(&mut harness, "SELECT a FROM t", 15, AT_REST));
    assert_eq!((harness.standing(), harness.census().moved_total), (None, 0));
    harness.drop_session();
}

#[test]
fn pauses_are_not_held_against_a_transaction() {
    let mut harness = logged_in(0);
    runs(&mut harness, "BEGIN", 1, IN_TRANSACTION);
    harness.waits(Nanos::from_millis(300));
    assert_eq!((harness.standing(), places(&harness)), (Some(Standing::Aside), ([0, 0], 1)));
    harness.waits(Nanos::from_secs(5));
    (0..3).for_each(|_| runs(&mut harness, "SELECT a FROM t", 5, IN_TRANSACTION));
    assert_eq!(places(&harness), ([1, 0], 0));
    harness.drop_session();
}

#[test]
fn a_statement_that_sleeps_stands_aside_at_once_and_teaches_nothing() {
    let mut harness = logged_in(0);
    for _ in 0..3 {
        says(&mut harness, "SELECT SLEEP(60)");
        assert_eq!(places(&harness), ([0, 0], 1));
        harness.waits(Nanos::from_secs(60));
        harness.says_packet(Side::Server, 1, &[0, 0, 0, AT_REST, 0, 0, 0]);
    }
    assert_eq!((harness.standing(), harness.census().moved_total), (None, 0));
    harness.drop_session();
}

#[test]
fn what_a_server_says_before_its_end_and_is_read_behind_it_begins_no_transaction() {
    let mut harness = logged_in(0);
    says(&mut harness, "BEGIN");
    // Its client does not read, so that the end of the server is seen before its answer.
    harness.happens(Event::Leaving(Side::Server));
    harness.says_packet(Side::Server, 1, &[0, 0, 0, IN_TRANSACTION, 0, 0, 0]);
    assert_eq!(
        (harness.standing(), harness.census().running(), harness.census().unqueued_total),
        (None, 0, 0)
    );
    harness.drop_session();
}

/// The guard's errors among what was sent to the client, by their numbers: code 1637 with its words.
fn refusals(told: &[u8]) -> Vec<u8> {
    let (mut rest, mut numbers) = (told, Vec::new());
    while let [a, b, c, number, packet @ ..] = rest {
        assert_eq!(packet.get(..3), Some(&[0xff, 0x65, 0x06][..]), "no refusal");
        numbers.push(*number);
        rest = &packet[u32::from_le_bytes([*a, *b, *c, 0]) as usize..];
    }
    numbers
}

/// A session at a gate whose only permit somebody else has, and where nobody may wait.
fn refused_everything() -> Harness {
    let mut harness = logged_in(1 << 2);
    harness.toggle_other();
    harness.forget();
    harness
}

#[test]
fn a_large_command_that_is_refused_is_thrown_away_to_its_end_and_the_session_goes_on() {
    for length in [20_000, 100_000, (1 << 24) - 1, (1 << 24) + 5] {
        let mut harness = refused_everything();
        let mut sql = b"\x03INSERT INTO t VALUES ('".to_vec();
        sql.resize(length, b'x');
        let mut bytes = Vec::new();
        packet::put(&mut bytes, &mut 0, |out| out.extend_from_slice(&sql));
        let (most, last) = bytes.split_at(bytes.len() - 1);
        most.chunks(1 << 14).for_each(|piece| harness.says(Side::Client, piece));
        assert_eq!((harness.told.len(), harness.passed), (0, 0), "it is not all there yet");
        harness.says(Side::Client, last);
        let packets = if length >= (1 << 24) - 1 { 2 } else { 1 };
        assert_eq!((refusals(&harness.told), harness.passed), (vec![packets], 0), "{length}");
        harness.toggle_other();
        runs(&mut harness, "SELECT a FROM t", 1, AT_REST);
        assert!(harness.passed > 0 && !harness.is_closed(), "{length}: the next command is one again");
        harness.drop_session();
    }
}

#[test]
fn a_large_command_that_waited_for_too_long_is_thrown_away_too() {
    let mut harness = logged_in(0);
    harness.bound_waits(Nanos::from_secs(1));
    harness.toggle_other();
    harness.forget();
    let insert = [&b"\x03INSERT INTO t VALUES ('"[..], &[b'x'; 50_000]].concat();
    harness.says_packet(Side::Client, 0, &insert);
    assert_eq!(harness.standing(), Some(Standing::Waiting));
    harness.waits(Nanos::from_secs(2));
    harness.says(Side::Client, &[]);
    assert_eq!((refusals(&harness.told), harness.passed, harness.standing()), (vec![1], SIGN_OF_LIFE, None));
    harness.toggle_other();
    runs(&mut harness, "SELECT a FROM t", 1, AT_REST);
    assert!(harness.passed > SIGN_OF_LIFE && !harness.is_closed(), "the next command is one again");
    harness.drop_session();
}

/// Bytes of what keeps a server awake.
const SIGN_OF_LIFE: usize = 9;

#[test]
fn a_server_is_kept_awake_for_a_session_in_the_queue_and_for_no_other() {
    let mut harness = logged_in(0);
    (0..20).for_each(|_| harness.waits(Nanos::from_millis(250)));
    assert_eq!(harness.passed, 0, "an idle session is the client's own affair");
    harness.toggle_other();
    says(&mut harness, "SELECT a FROM t");
    (0..3).for_each(|_| harness.waits(Nanos::from_millis(250)));
    assert_eq!((harness.standing(), harness.passed), (Some(Standing::Waiting), 2 * SIGN_OF_LIFE));
    harness.toggle_other();
    let passed = harness.passed;
    assert_eq!((harness.standing(), passed > 2 * SIGN_OF_LIFE), (Some(Standing::Held), true));
    harness.waits(Nanos::from_millis(250));
    harness.says_packet(Side::Server, 1, &[0, 0, 0, AT_REST, 0, 0, 0]);
    (0..4).for_each(|_| harness.waits(Nanos::from_millis(250)));
    assert_eq!((harness.standing(), harness.passed), (None, passed));
    harness.drop_session();
}

#[test]
fn a_client_that_leaves_in_the_middle_of_a_refused_command_leaves_nothing() {
    let mut harness = refused_everything();
    harness.says(Side::Client, &[&[0, 0, 4, 0, 3][..], &[b'x'; 30_000]].concat());
    harness.ends(Side::Client, false);
    harness.ends(Side::Server, false);
    harness.waits(Nanos::from_secs(3));
    assert!(harness.is_closed());
    harness.drop_session();
}

#[test]
fn whoever_says_refused_commands_ahead_is_told_so_many_at_a_time() {
    let mut harness = refused_everything();
    harness.says(Side::Client, &[1, 0, 0, 0, 3].repeat(100));
    assert_eq!(refusals(&harness.told).len(), 16);
    harness.waits(Nanos::from_millis(50));
    assert_eq!(refusals(&harness.told).len(), 32);
    harness.happens(Event::Blocked(true));
    harness.waits(Nanos::from_secs(5));
    assert_eq!(refusals(&harness.told).len(), 32, "a client that takes none is told no more");
    harness.happens(Event::Blocked(false));
    (0..5).for_each(|_| harness.waits(Nanos::from_millis(50)));
    assert_eq!(refusals(&harness.told).len(), 100);
    harness.forget();
    (0..50).for_each(|_| harness.says(Side::Client, &[1, 0, 0, 0, 3]));
    assert_eq!(refusals(&harness.told).len(), 50, "one after the other is another matter");
    harness.drop_session();
}

#[test]
fn whoever_leaves_in_the_middle_of_a_goodbye_leaves_nothing() {
    for goodbye in [&[0x88, 0x13, 0, 0, 1][..], &[1, 0, 0, 0, 1]] {
        let mut harness = logged_in(0);
        runs(&mut harness, "BEGIN", 1, IN_TRANSACTION);
        let padding = if goodbye[0] == 1 { 0 } else { 1_100 };
        harness.says(Side::Client, &[goodbye, &vec![0; padding]].concat());
        harness.ends(Side::Client, false);
        assert!(harness.end_told[Side::Server as usize], "the server would wait for the rest of it");
        harness.ends(Side::Server, false);
        harness.waits(Nanos::from_secs(3));
        assert!(harness.is_closed());
        harness.drop_session();
    }
}

#[test]
fn half_a_command_that_is_not_the_one_at_the_server_is_no_pause() {
    let mut harness = logged_in(0);
    says(&mut harness, "SELECT BENCHMARK(2000000000, SHA1('a'))");
    let long_data = [&[0x88, 0x13, 0, 0, 0x18][..], &[0; 1_100]].concat();
    harness.says(Side::Client, &long_data);
    harness.waits(Nanos::from_millis(500));
    assert_eq!(places(&harness), ([0, 1], 0));
    harness.drop_session();
}

#[test]
fn a_client_that_does_not_read_is_no_pause_while_the_server_has_more_to_do() {
    for (texts, aside) in [
        (&["SELECT big FROM t"][..], 1),
        (&["SELECT big FROM t", "SELECT BENCHMARK(2000000000, SHA1('a'))"], 0),
        (&["SELECT big FROM t; SELECT BENCHMARK(2000000000, SHA1('a'))"], 0),
    ] {
        let mut harness = logged_in(0);
        texts.iter().for_each(|text| says(&mut harness, text));
        harness.says_packet(Side::Server, 1, b"\x01");
        harness.happens(Event::Blocked(true));
        harness.waits(Nanos::from_millis(500));
        assert_eq!(harness.census().aside, aside, "{texts:?}");
        harness.drop_session();
    }
}

#[test]
fn an_unread_result_is_no_pause_for_the_command_behind_it() {
    let mut harness = logged_in(0);
    says(&mut harness, "SELECT a FROM t");
    says(&mut harness, "SELECT BENCHMARK(2000000000, SHA1('a'))");
    // The whole answer to the first, which the client does not read: the server works on the second.
    harness.happens(Event::Blocked(true));
    harness.says_packet(Side::Server, 1, &[0, 0, 0, AT_REST, 0, 0, 0]);
    harness.waits(Nanos::from_millis(500));
    assert_eq!(places(&harness), ([0, 1], 0));
    harness.drop_session();
}
