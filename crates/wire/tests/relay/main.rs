//! The relay's readers against sessions captured from MariaDB 10.11 and MySQL 9.7, whole, cut, and damaged.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod harness;

use evenkeel_core::random::{Random, Seed};
use evenkeel_wire::relay::hello::{ClientHello, ServerHello, Verdict, is_tls_request, verdict};
use evenkeel_wire::relay::{CommandKind, CommandReader, Dialect, Reply, ReplyReader, Step};
use evenkeel_wire::{ProtocolError, packet};
use harness::{Session, captured, play};
use proptest::prelude::*;

const CORPUS: [(&str, &[u8]); 4] = [
    ("plain", include_bytes!("corpus/plain")),
    ("modern", include_bytes!("corpus/modern")),
    ("mariadb", include_bytes!("corpus/mariadb")),
    // MySQL's own connector, with attributes of queries, a file, and a change of user.
    ("mysql", include_bytes!("corpus/mysql")),
];

#[test]
fn captured_sessions_are_recognised_to_the_end() {
    for (name, bytes) in CORPUS {
        let (dialect, records) = captured(bytes);
        let least = if name == "mysql" { 25 } else { 120 };
        assert!(records.len() > least, "{name} has {} records", records.len());
        let mut session = Session::new(dialect);
        play(&mut session, &records, || usize::MAX).unwrap();
        assert!(session.is_quiet(), "{name} is left in the middle");
        let sent: usize = records.iter().filter(|(server, _)| !server).map(|(_, bytes)| bytes.len()).sum();
        assert_eq!(session.passed, sent, "{name}");
        let kinds = session.notes.iter().filter(|note| note.starts_with("Command")).count();
        assert!(kinds > least, "{name} has {kinds} commands");
    }
}

#[test]
fn any_split_of_a_captured_session_says_the_same() {
    for (name, bytes) in CORPUS {
        let (dialect, records) = captured(bytes);
        let mut whole = Session::new(dialect);
        play(&mut whole, &records, || usize::MAX).unwrap();
        let mut random = Random::new(Seed(7).child(name));
        for largest in [1, 2, 3, 7, 50, 5_000] {
            let mut session = Session::new(dialect);
            play(&mut session, &records, || random.uniform(1, largest) as usize).unwrap();
            assert!(session.notes == whole.notes, "{name} in pieces of up to {largest}");
        }
    }
}

/// Changes, inserts, removes or moves some bytes.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..random.uniform(1, 8) {
        let at = random.uniform(8, bytes.len() as u64 - 1) as usize;
        match random.uniform(0, 4) {
            0 => bytes[at] ^= 1 << random.uniform(0, 7),
            1 => bytes[at] = [0, 1, 0xfa, 0xfb, 0xfc, 0xfe, 0xff][random.uniform(0, 6) as usize],
            2 => bytes.insert(at, random.bits() as u8),
            3 => {
                let count = random.uniform(1, 40).min((bytes.len() - at) as u64) as usize;
                bytes.drain(at..at + count);
            }
            _ => {
                let from = random.uniform(8, bytes.len() as u64 - 1) as usize;
                bytes[at] = bytes[from];
            }
        }
    }
}

/// Each seed is one damaged session; a failure names it.
#[test]
fn damaged_sessions_end_with_an_error_or_go_on_and_never_panic() {
    let mut refused = 0;
    for seed in 0..1_200 {
        let (_, bytes) = CORPUS[seed as usize % CORPUS.len()];
        let mut random = Random::new(Seed(seed).child("damage"));
        let mut bytes = bytes.to_vec();
        damage(&mut bytes, &mut random);
        let (dialect, records) = captured(&bytes);
        let mut session = Session::new(dialect);
        let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            play(&mut session, &records, || random.uniform(1, 3_000) as usize)
        }));
        refused += u32::from(played.unwrap_or_else(|_| panic!("seed {seed}")).is_err());
    }
    assert!(refused > 100, "only {refused} of 1,200 damaged sessions were refused");
}

fn commands(payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for payload in payloads {
        packet::put(&mut out, &mut 0, |out| out.extend_from_slice(payload));
    }
    out
}

proptest! {
    #[test]
    fn any_bytes_of_either_side_are_taken_or_refused(
        dialect: u64,
        pieces in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..200)), 0..20),
    ) {
        let mut session = Session::new(Dialect::new(dialect));
        for (server, bytes) in &pieces {
            let taken = if *server { session.server(bytes) } else { session.client(bytes) };
            if taken.is_err() {
                break;
            }
        }
    }

    #[test]
    fn commands_in_any_pieces_are_the_same_commands(
        payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3_000), 1..6),
        sizes in prop::collection::vec(1_usize..1_500, 1..20),
    ) {
        // Without those that change what follows.
        prop_assume!(payloads.iter().all(|payload| !matches!(payload.first(), Some(0x11..=0x13 | 0x1e | 0x20 | 0x21))));
        let bytes = commands(&payloads);
        let mut whole = Session::new(Dialect::default());
        whole.client(&bytes).unwrap();
        prop_assert_eq!((whole.notes.len(), whole.held()), (payloads.len(), 0));
        let mut cut = Session::new(Dialect::default());
        let mut sizes = sizes.iter().cycle();
        play(&mut cut, &[(false, &bytes)], || *sizes.next().unwrap()).unwrap();
        prop_assert_eq!(cut.notes, whole.notes);
    }
}

#[test]
fn a_command_is_shown_before_its_rest_has_come() {
    let mut reader = CommandReader::new();
    let bytes = commands(&[[&b"\x03INSERT "[..], &vec![b'x'; 5_000]].concat()]);
    assert_eq!(reader.next(&bytes[..1_000]).unwrap(), Step::More);
    let Step::Command(command) = reader.next(&bytes[..1_100]).unwrap() else { panic!("no command") };
    assert_eq!((command.kind, command.head.len(), command.length), (CommandKind::Query, 1_024, 5_008));
    reader.accept(&command);
    assert_eq!(reader.next(&bytes[..1_100]).unwrap(), Step::Pass(1_100));
    assert!(!reader.is_between());
    assert_eq!(reader.next(&bytes[1_100..]).unwrap(), Step::Pass(bytes.len() - 1_100));
    assert!(reader.is_between());
}

#[test]
fn a_long_command_goes_on_in_its_next_packet_and_a_missing_one_is_noticed() {
    let mut bytes = Vec::new();
    packet::put(&mut bytes, &mut 0, |out| out.resize(out.len() + 2 * packet::PAYLOAD_MAX, 3));
    bytes.extend_from_slice(&commands(&[vec![0x0e]]));
    let mut session = Session::new(Dialect::default());
    session.client(&bytes).unwrap();
    assert_eq!(session.notes.len(), 2);
    bytes[4 + packet::PAYLOAD_MAX + 3] = 9;
    let refused = Session::new(Dialect::default()).client(&bytes);
    assert_eq!(refused, Err(ProtocolError::Sequence { expected: 1, found: 9 }));
}

#[test]
fn the_next_command_waits_while_the_server_asks_who_the_client_is() {
    let mut session = Session::new(Dialect::default());
    let change = commands(&[b"\x11me\0\0db\0".to_vec(), b"\x0e".to_vec()]);
    session.client(&change).unwrap();
    assert_eq!((session.notes.len(), session.held()), (1, 5));
    session.server(b"\x02\0\0\x01\xfe\0").unwrap();
    assert_eq!(session.held(), 5);
    session.server(b"\x07\0\0\x03\0\0\0\x02\0\0\0").unwrap();
    assert_eq!((session.notes.len(), session.held()), (4, 0));
}

#[test]
fn a_request_for_a_file_while_other_commands_wait_is_refused() {
    let mut replies = ReplyReader::new(Dialect::default());
    replies.expect(CommandKind::Query);
    replies.expect(CommandKind::Query);
    let refused = replies.next(&mut &b"\x02\0\0\x01\xfbx"[..]);
    assert!(matches!(refused, Err(ProtocolError::Malformed(_))), "{refused:?}");
}

#[test]
fn an_error_with_the_number_of_progress_reports_is_an_answer() {
    let mut replies = ReplyReader::new(Dialect::new(1 << 29));
    replies.expect(CommandKind::Query);
    let report = b"\x0b\0\0\x01\xff\xff\xff\x01\x01\x02\0\0\0\x01x";
    assert_eq!(replies.next(&mut &report[..]), Ok(None));
    let error = b"\x0a\0\0\x02\xff\xff\xff#45000x";
    assert_eq!(replies.next(&mut &error[..]), Ok(Some(Reply::Error { code: 0xffff })));
}

#[test]
fn a_packet_of_a_file_whose_number_is_not_due_is_refused() {
    for (number, passes) in [(2, true), (3, false), (0, false), (9, false)] {
        let mut session = Session::new(Dialect::default());
        session.client(b"\x02\0\0\0\x03x").unwrap();
        session.server(b"\x02\0\0\x01\xfbx").unwrap();
        let said = session.client(&[5, 0, 0, number, 1, 0, 0, 0, 0x0e]);
        assert_eq!(said.is_ok(), passes, "{number}: {said:?}");
    }
}

#[test]
fn a_server_that_ends_the_connection_may_say_why_and_nothing_else() {
    let mut replies = ReplyReader::new(Dialect::default());
    let said = replies.next(&mut &b"\x0a\0\0\0\xff\x87\x07#70100x"[..]);
    assert_eq!(said, Ok(Some(Reply::Farewell { code: 1927 })));
    assert_eq!(replies.next(&mut &b"\x01\0\0\0\0"[..]), Err(ProtocolError::Unasked));
}

#[test]
fn commands_sent_too_far_ahead_are_held() {
    let mut session = Session::new(Dialect::default());
    session.client(&commands(&vec![vec![0x0e]; 300])).unwrap();
    assert_eq!((session.notes.len(), session.held()), (256, 44 * 5));
    session.server(&b"\x07\0\0\x01\0\0\0\x02\0\0\0".repeat(2)).unwrap();
    assert_eq!((session.notes.len(), session.held()), (260, 42 * 5));
}

/// Payloads of one side, each packet a record.
fn payloads(bytes: &[u8], of_server: bool) -> Vec<Vec<u8>> {
    let (_, records) = captured(bytes);
    let side = records.into_iter().filter(|(server, _)| *server == of_server);
    side.map(|(_, bytes)| bytes[4..].to_vec()).collect()
}

/// Logins captured from MySQL 9.7: caching_sha2_password by its cache, by its key, under TLS, and refused.
#[test]
fn what_a_mysql_server_says_of_a_password_is_understood() {
    const ACCEPTED: Verdict<'_> = Verdict::Accepted { status: 2 };
    let cases: [(&[u8], bool, &[Verdict<'_>]); 4] = [
        (include_bytes!("corpus/mysql-login-fast"), false, &[Verdict::More, ACCEPTED]),
        (include_bytes!("corpus/mysql-login-rsa"), false, &[Verdict::More, Verdict::More, ACCEPTED]),
        (include_bytes!("corpus/mysql-login-tls"), true, &[Verdict::More, ACCEPTED]),
        (
            include_bytes!("corpus/mysql-login-refused"),
            false,
            &[Verdict::More, Verdict::More, Verdict::Refused],
        ),
    ];
    for (bytes, tls, expected) in cases {
        let (server, client) = (payloads(bytes, true), payloads(bytes, false));
        let hello = ServerHello::parse(server[0].clone()).unwrap();
        assert!(hello.offers_tls());
        assert_eq!(is_tls_request(&client[0]), tls);
        let answer = ClientHello::parse(&client[usize::from(tls)]).unwrap();
        assert_eq!((answer.user, answer.database), (b"app".to_vec(), b"shop".to_vec()));
        assert_eq!(answer.plugin, b"caching_sha2_password");
        let verdicts: Vec<_> = server[1..].iter().map(|payload| verdict(payload).unwrap()).collect();
        assert_eq!(verdicts, expected);
    }
}
