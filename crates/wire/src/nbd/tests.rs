//! Bytes of the protocol, whole and in pieces, right and wrong.

use super::*;

#[test]
fn an_answer_has_the_head_that_was_agreed_on() {
    let simple = Head::simple(0x0102_0304_0506_0708, Ok(()));
    assert_eq!(simple.as_slice(), [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(Head::simple(1, Err(Failure::NoSpace)).as_slice()[4..8], [0, 0, 0, 28]);
    let data = Head::structured(1, 0x1000, Ok(512));
    assert_eq!(data.as_slice()[..8], [0x66, 0x8e, 0x33, 0xef, 0, 1, 0, 1]);
    assert_eq!(data.as_slice()[16..], [0, 0, 2, 8, 0, 0, 0, 0, 0, 0, 0x10, 0]);
    let failed = Head::structured(1, 0, Err(Failure::Io));
    assert_eq!(failed.as_slice()[4..8], [0, 1, 0x80, 1]);
    assert_eq!(failed.as_slice()[16..], [0, 0, 0, 6, 0, 0, 0, 5, 0, 0]);
    assert_eq!(
        Head::structured(1, 0, Ok(0)).as_slice()[4..8],
        [0, 1, 0, 0],
        "a piece of data may not be empty"
    );
}

#[test]
fn extents_follow_the_number_of_their_context() {
    let extents = Head::extents(1, Ok(16));
    assert_eq!(extents.as_slice()[..8], [0x66, 0x8e, 0x33, 0xef, 0, 1, 0, 5]);
    assert_eq!(extents.as_slice()[16..], [0, 0, 0, 20, 0, 0, 0, 1]);
    assert_eq!(Head::extents(1, Err(Failure::Io)).as_slice()[4..8], [0, 1, 0x80, 1]);
    assert_eq!(
        (extent(512, true), extent(1 << 20, false)),
        ([0, 0, 2, 0, 0, 0, 0, 3], [0, 16, 0, 0, 0, 0, 0, 0])
    );
}

#[test]
fn a_client_is_told_errors_in_the_numbers_of_the_protocol() {
    let cases =
        [(1, 1), (13, 1), (30, 1), (5, 5), (12, 12), (22, 22), (27, 28), (28, 28), (122, 28), (75, 75)];
    for (errno, code) in cases.into_iter().chain([(95, 95), (108, 108), (61, 5), (0, 5), (-3, 5)]) {
        assert_eq!(Failure::of_errno(errno).code(), code, "{errno}");
    }
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
