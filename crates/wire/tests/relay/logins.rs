//! Logins captured from MySQL 9.7: caching_sha2_password by its cache, by its key, under TLS, and refused.

use super::harness::captured;
use evenkeel_wire::relay::hello::{ClientHello, ServerHello, Verdict, is_tls_request, verdict};

/// Payloads of one side, each packet a record.
fn payloads(bytes: &[u8], of_server: bool) -> Vec<Vec<u8>> {
    let (_, records) = captured(bytes);
    let side = records.into_iter().filter(|(server, _)| *server == of_server);
    side.map(|(_, bytes)| bytes[4..].to_vec()).collect()
}

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
