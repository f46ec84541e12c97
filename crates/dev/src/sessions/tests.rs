//! Histories by the thousand, defects that can be planted, and both sides saying whatever bytes they like.

use super::harness::Harness;
use super::*;
use evenkeel_guard::proxy::session::Side;
use proptest::collection::vec;
use proptest::prelude::*;
use std::path::Path;

const REPLAY: &str = "cargo run --release -p evenkeel-dev --example sessions --";
/// Histories of each test run: three million steps.
const HISTORIES: u64 = 150;

#[test]
fn nothing_that_must_never_happen_does_in_millions_of_steps() {
    let played: Result<Vec<u64>, Violation> = (1..=HISTORIES).map(play).collect();
    let steps: u64 = match played {
        Ok(steps) => steps.iter().sum(),
        Err(violation) => {
            panic!("{violation}\nreplay: {REPLAY} {} story", violation.seed)
        }
    };
    assert!(steps >= HISTORIES * STEPS, "only {steps} steps");
}

#[test]
fn a_seed_is_one_history() {
    assert_eq!(play(7), play(7));
}

#[test]
fn a_told_history_is_the_same_history() {
    let (story, ended) = tell(7);
    assert_eq!(ended, play(7));
    assert!(story.len() > 1_000, "{} lines", story.len());
}

fn assert_keys(entry: &toml::Value, known: &[&str]) {
    for key in entry.as_table().unwrap().keys() {
        assert!(known.contains(&key.as_str()), "{key} is no key of an entry: {entry:?}");
    }
}

#[test]
fn each_defect_of_the_list_can_be_planted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let list: toml::Table = include_str!("mutations.toml").parse().unwrap();
    let mutations = list["mutation"].as_array().unwrap();
    let mut names = std::collections::BTreeSet::new();
    for mutation in mutations {
        // A line that a merge lost makes one defect of two: the second one's keys then stand in the first one's edit.
        assert_keys(mutation, &["name", "about", "expects", "dictated", "behind", "edit"]);
        let name = mutation["name"].as_str().unwrap();
        assert!(names.insert(name), "{name} is there twice");
        assert!(!mutation["expects"].as_array().unwrap().is_empty(), "{name} expects nothing");
        for edit in mutation["edit"].as_array().unwrap() {
            assert_keys(edit, &["file", "old", "new"]);
            let text = |key: &str| edit[key].as_str().unwrap();
            let source = std::fs::read_to_string(root.join(text("file"))).unwrap();
            assert_eq!(source.matches(text("old")).count(), 1, "{name}: {}", text("old"));
            assert_ne!(text("old"), text("new"), "{name}");
        }
    }
    assert!(mutations.len() >= 40, "{}", mutations.len());
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
    let played: Result<Vec<u64>, Violation> = (1..=3_000).map(bytes::play_seed).collect();
    match played {
        Ok(things) => assert_eq!(things.len(), 3_000),
        Err(violation) => panic!("{violation}\nreplay: {REPLAY} {} 1 bytes", violation.seed),
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
