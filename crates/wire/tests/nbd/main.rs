//! The server's side of NBD against clients that are right, in any pieces, and against ones that are not.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod harness;

use evenkeel_core::random::{Random, Seed};
use evenkeel_wire::nbd::{Command, Step};
use harness::{Played, play, play_tls};
use proptest::prelude::*;

fn flags(fixed: bool) -> Vec<u8> {
    u32::from(fixed).to_be_bytes().to_vec()
}

fn option(number: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"IHAVEOPT".to_vec();
    bytes.extend(number.to_be_bytes());
    bytes.extend((data.len() as u32).to_be_bytes());
    bytes.extend(data);
    bytes
}

fn string(text: &[u8]) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes(), text].concat()
}

fn wanted(name: &[u8]) -> Vec<u8> {
    [string(name), vec![0, 2, 0, 1, 0, 3]].concat()
}

fn request(kind: u16, flags: u16, length: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = 0x2560_9513_u32.to_be_bytes().to_vec();
    bytes.extend(flags.to_be_bytes());
    bytes.extend(kind.to_be_bytes());
    bytes.extend(77_u64.to_be_bytes());
    bytes.extend(4_096_u64.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// A client that uses all there is.
fn whole_session() -> Vec<u8> {
    let parts = [
        flags(true),
        option(5, b""),
        option(3, b""),
        option(8, b""),
        option(6, &wanted(b"archive")),
        option(99, &[7; 20_000]),
        option(7, &wanted(b"nobody")),
        option(7, &wanted(b"orders")),
        request(0, 0, 512, b""),
        request(1, 1, 100, &[9; 100]),
        request(3, 0, 0, b""),
        request(4, 1, 1 << 31, b""),
        request(6, 3, 1 << 20, b""),
        request(1, 32, 50, &[8; 50]),
        request(5, 0, 512, b""),
        request(2, 0, 0, b""),
    ];
    parts.concat()
}

/// The kinds of the answers to options, in turn.
fn kinds(played: &Played) -> Vec<u32> {
    let (mut kinds, mut rest) = (Vec::new(), &played.answers[18..]);
    while let Some((head, behind)) = rest.split_at_checked(20) {
        let number = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().unwrap());
        kinds.push(number(12));
        rest = &behind[number(16) as usize..];
    }
    kinds
}

const ACK: u32 = 1;
const fn refused(why: u32) -> u32 {
    1 << 31 | why
}

#[test]
fn a_client_that_uses_all_there_is_gets_it() {
    let played = play(&whole_session(), || usize::MAX);
    assert_eq!(played.error, None);
    let answers = [refused(2), 2, 2, ACK, refused(1), 3, 3, ACK, refused(9), refused(6), 3, 3, ACK];
    assert_eq!(kinds(&played), answers);
    assert_eq!(played.steps.last(), Some(&Step::Chosen { export: 0 }));
    let commands: Vec<Command> = played.requests.iter().map(|request| request.command).collect();
    assert_eq!(
        commands[..5],
        [
            Command::Read,
            Command::Write { durable: true },
            Command::Flush,
            Command::Trim { durable: true },
            Command::Zero { durable: true, allocate: true },
        ]
    );
    assert!(matches!(commands[5], Command::Refused { payload: 50 }), "an unknown flag");
    assert!(matches!(commands[6], Command::Refused { payload: 0 }), "a command that was not offered");
    assert_eq!(commands[7..], [Command::Disconnect]);
    assert_eq!(played.payload, 150);
    assert!(played.requests.iter().all(|request| (request.cookie, request.offset) == (77, 4_096)));
}

#[test]
fn any_split_of_a_session_says_the_same() {
    let (plain, secured, mut random) =
        (whole_session(), secured_session(), Random::new(Seed(7).child("nbd")));
    for largest in [1, 2, 3, 7, 50, 5_000] {
        let mut piece = || random.uniform(1, largest) as usize;
        assert_eq!(play(&plain, &mut piece), play(&plain, || usize::MAX), "in pieces of up to {largest}");
        assert_eq!(play_tls(&secured, &mut piece), play_tls(&secured, || usize::MAX), "and with TLS");
    }
}

#[test]
fn an_option_that_is_malformed_or_too_long_is_refused_and_the_next_one_is_taken() {
    let long = [b'x'; 5_000];
    let cases: [(u32, Vec<u8>, u32); 8] = [
        (3, b"x".to_vec(), 3),
        (7, b"".to_vec(), 3),
        (7, vec![0xff; 30], 3),
        (7, [wanted(b"orders"), vec![0]].concat(), 3),
        (7, wanted(&long), 6),
        (7, vec![0; 100_000], 9),
        (5, b"".to_vec(), 2),
        (11, b"".to_vec(), 1),
    ];
    for (number, data, why) in cases {
        let played = play(&[flags(true), option(number, &data), option(2, b"")].concat(), || 1_000);
        assert_eq!(kinds(&played), [refused(why), ACK], "option {number} with {} bytes", data.len());
        assert_eq!(played.steps, [Step::Answered, Step::Ended]);
    }
}

/// A client that uses all there is, and TLS: some of it before, which is refused.
fn secured_session() -> Vec<u8> {
    let before = [option(3, b""), option(8, b""), option(7, &wanted(b"orders")), option(5, b"x")];
    [flags(true), before.concat(), option(5, b""), whole_session()[4..].to_vec()].concat()
}

#[test]
fn a_client_that_has_to_use_tls_gets_all_there_is_behind_it() {
    let played = play_tls(&secured_session(), || usize::MAX);
    assert_eq!(played.error, None);
    let refusals = [refused(5), refused(5), refused(5), refused(3), ACK, refused(3)];
    assert_eq!(kinds(&played)[..6], refusals, "and not a second time");
    let (plain, secured) = (play(&whole_session(), || usize::MAX), &played.steps);
    assert_eq!((secured[4], &secured[5..]), (Step::Secures, &plain.steps[..]));
    assert_eq!((&played.requests, played.payload), (&plain.requests, plain.payload));
    let oldest = play_tls(&[flags(true), option(1, b"orders")].concat(), || 1);
    assert_eq!(oldest.steps, [Step::Ended], "it cannot be told");
}

#[test]
fn who_does_not_speak_the_protocol_is_not_answered() {
    let cases = [
        vec![0, 0, 0, 8],
        [flags(true), b"GET / HTTP/1.1\r\n".to_vec()].concat(),
        [flags(false), option(3, b"")].concat(),
        [flags(true), option(7, &wanted(b"orders")), vec![0; 28]].concat(),
    ];
    for bytes in cases {
        let played = play(&bytes, || 3);
        assert!(played.error.is_some(), "{played:?}");
    }
}

#[test]
fn more_than_one_request_may_carry_is_refused() {
    let begin = [flags(true), option(7, &wanted(b"orders"))].concat();
    let read = play(&[begin.clone(), request(0, 0, (32 << 20) + 1, b"")].concat(), || 100);
    assert!(matches!(read.requests[0].command, Command::Refused { payload: 0 }));
    let write = play(&[begin, request(1, 0, u32::MAX, b"")].concat(), || 100);
    assert!(matches!(write.requests[0].command, Command::Refused { payload: u32::MAX }));
}

#[test]
fn the_oldest_way_to_choose_is_not_served() {
    assert_eq!(play(&[flags(true), option(1, b"orders")].concat(), || 1).steps, [Step::Ended]);
}

/// Changes, inserts or removes some bytes.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..random.uniform(1, 6) {
        let at = random.uniform(0, bytes.len() as u64 - 1) as usize;
        match random.uniform(0, 3) {
            0 => bytes[at] ^= 1 << random.uniform(0, 7),
            1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random.uniform(0, 4) as usize],
            2 => bytes.insert(at, random.bits() as u8),
            _ => drop(bytes.remove(at)),
        }
    }
}

/// What the fuzzer does, for a fixed number of inputs.
#[test]
fn damaged_sessions_say_the_same_whole_and_cut() {
    let mut random = Random::new(Seed(11).child("nbd"));
    for _ in 0..5_000 {
        let mut bytes = whole_session();
        damage(&mut bytes, &mut random);
        let (whole, cut) = (play(&bytes, || usize::MAX), play(&bytes, || 3));
        assert_eq!(whole, cut);
        let mut bytes = secured_session();
        damage(&mut bytes, &mut random);
        assert_eq!(play_tls(&bytes, || usize::MAX), play_tls(&bytes, || 3));
    }
}

proptest! {
    /// Options that are well formed and carry anything, in any order, with requests behind them.
    #[test]
    fn any_options_say_the_same_whole_and_cut(
        options in proptest::collection::vec((0_u32..12, any::<u8>(), proptest::collection::vec(any::<u8>(), 0..40)), 0..12),
        requests in proptest::collection::vec((0_u16..9, 0_u16..32, any::<u32>()), 0..12),
        piece in 1_usize..100,
    ) {
        let carried = |kind: u8, bytes: Vec<u8>| match kind % 4 {
            0 => bytes,
            1 => wanted(b"orders"),
            2 => [string(b"orders"), bytes].concat(),
            _ => Vec::new(),
        };
        let mut bytes = flags(true);
        options.into_iter().for_each(|(number, kind, data)| bytes.extend(option(number, &carried(kind, data))));
        bytes.extend(option(7, &wanted(b"orders")));
        requests.into_iter().for_each(|(kind, flags, length)| bytes.extend(request(kind, flags, length, b"")));
        prop_assert_eq!(play(&bytes, || usize::MAX), play(&bytes, || piece));
        prop_assert_eq!(play_tls(&bytes, || usize::MAX), play_tls(&bytes, || piece));
    }
}
