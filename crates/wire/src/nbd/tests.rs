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
