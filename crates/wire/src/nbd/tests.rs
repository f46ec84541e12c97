//! Bytes of the protocol, whole and in pieces, right and wrong.

use super::*;

#[test]
fn an_answer_repeats_the_name_of_its_request() {
    let done = Head::new(0x0102_0304_0506_0708, Ok(()));
    assert_eq!(done.as_slice(), [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(Head::new(1, Err(Failure::NoSpace)).as_slice()[4..8], [0, 0, 0, 28]);
}

#[test]
fn a_client_is_told_errors_in_the_numbers_of_the_protocol() {
    let cases =
        [(1, 1), (13, 1), (30, 1), (5, 5), (12, 12), (22, 22), (27, 28), (28, 28), (122, 28), (75, 5)];
    for (errno, code) in cases.into_iter().chain([(95, 95), (108, 108), (61, 5), (0, 5), (-3, 5)]) {
        assert_eq!(Failure::of_errno(errno).code(), code, "{errno}");
    }
}

#[test]
fn where_tls_is_required_nothing_is_told_before_it() {
    let option = |number: u8, data: &[u8]| {
        [&b"IHAVEOPT"[..], &[0, 0, 0, number, 0, 0, 0, data.len() as u8], data].concat()
    };
    let exports = [Export { name: "secret".to_owned(), bytes: 512, read_only: false }];
    let mut out = Vec::new();
    let mut handshake = Handshake::start_tls(&mut out);
    handshake.take(&mut &[0, 0, 0, 3][..], &exports, &mut out).unwrap();
    out.clear();
    for (number, data) in [(3, &b""[..]), (8, b""), (7, b"\0\0\0\x06secret\0\0"), (10, b""), (5, b"x")] {
        let taken = handshake.take(&mut &option(number, data)[..], &exports, &mut out);
        assert_eq!(taken, Ok(Step::Answered), "{number}");
        let code = u32::from_be_bytes(out[12..16].try_into().unwrap());
        assert_eq!(code, if number == 5 { 1 << 31 | 3 } else { 1 << 31 | 5 });
        assert!(!out.windows(6).any(|bytes| bytes == b"secret"));
        out.clear();
    }
    assert_eq!(handshake.take(&mut &option(5, b"")[..], &exports, &mut out), Ok(Step::Secures));
    let chosen = handshake.take(&mut &option(7, b"\0\0\0\x06secret\0\0")[..], &exports, &mut out);
    assert_eq!(chosen, Ok(Step::Chosen { export: 0 }));
    let mut out = Vec::new();
    let mut old = Handshake::start_tls(&mut out);
    let asked = [&[0, 0, 0, 3][..], &option(1, b"secret")].concat();
    assert_eq!(old.take(&mut &asked[..], &exports, &mut out), Ok(Step::Ended), "it cannot be told");
}

#[test]
fn a_handshake_holds_no_more_than_two_names() {
    for length in [2 * NAME_MAX as u32, u32::MAX] {
        let mut out = Vec::new();
        let mut handshake = Handshake::start(&mut out);
        let head = [&[0, 0, 0, 1][..], b"IHAVEOPT", &[0, 0, 0, 77], &length.to_be_bytes()].concat();
        assert_eq!(handshake.take(&mut &head[..], &[], &mut out), Ok(Step::Wants));
        for _ in 0..2 * NAME_MAX - 1 {
            assert_eq!(handshake.take(&mut &[7][..], &[], &mut out), Ok(Step::Wants));
            assert!(handshake.held() <= 2 * NAME_MAX, "{}", handshake.held());
        }
    }
}
