//! Histories by the thousand, defects that can be planted, and both sides saying whatever bytes they like.

use super::harness::Harness;
use super::*;
use evenkeel_guard::proxy::session::Side;
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
