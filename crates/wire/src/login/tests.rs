//! Logins against a server played here, packet by packet.

use super::plugin::{mask, xor};
use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use num_bigint::BigUint;
use proptest::prelude::*;
use ring::signature::{ED25519, UnparsedPublicKey};
use sha1::{Digest, Sha1};

const NONCE: &[u8; 20] = b"abcdefghijklmnopqrst";
const KEY_X509: &str = "\
    -----BEGIN PUBLIC KEY-----\n\
    MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQCTnzlBZvM6UMTIRyxp/bk2iVSb\n\
    viA/XwduSRV79tUJBZ6w/bPTq1iMcCLePJNgNv2fbICB4DJBa9zLSH2yRL9o6t4g\n\
    wp6bphOKavG/nab42OtgMrSiKXb9iMd/CMVKYy/QB2BLwulOsnz07pNJ2DbvXE3T\n\
    2v/s4+InZatUWtRz/QIDAQAB\n\
    -----END PUBLIC KEY-----";
const KEY_PKCS1: &str = "\
    -----BEGIN RSA PUBLIC KEY-----\n\
    MIGJAoGBAJOfOUFm8zpQxMhHLGn9uTaJVJu+ID9fB25JFXv21QkFnrD9s9OrWIxw\n\
    It48k2A2/Z9sgIHgMkFr3MtIfbJEv2jq3iDCnpumE4pq8b+dpvjY62AytKIpdv2I\n\
    x38IxUpjL9AHYEvC6U6yfPTuk0nYNu9cTdPa/+zj4idlq1Ra1HP9AgMBAAE=\n\
    -----END RSA PUBLIC KEY-----";
const MODULUS: &[u8] = b"\
    939F394166F33A50C4C8472C69FDB93689549BBE203F5F076E49157BF6D509059EB0FDB3D3AB588C7022DE3C936036FD\
    9F6C8081E032416BDCCB487DB244BF68EADE20C29E9BA6138A6AF1BF9DA6F8D8EB6032B4A22976FD88C77F08C54A632F\
    D007604BC2E94EB27CF4EE9349D836EF5C4DD3DAFFECE3E22765AB545AD473FD";
const PRIVATE_EXPONENT: &[u8] = b"\
    39500406A455A23A616BF0560A007BBBF4AD6899F423265DD82F7FABD534F87FBA10B52EEFEB0241E3F76598D70EEFCA\
    9FEE9C25D04932A511DFCA9122791666AA75F16E5F0FDDF25C6D010A2720250FE7FD2B74296A933C89E63079D3231C7F\
    2A8827F33719FFA054DCC278A33AA5B64D37CB9F0C141AEA3A9556413C985471";

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    packet::put(&mut out, &mut { sequence }, |out| out.extend_from_slice(payload));
    out
}

fn greeting(capabilities: CapabilityFlags, plugin: &str) -> Vec<u8> {
    let [a, b, c, d] = capabilities.bits().to_le_bytes();
    let mut payload = b"\x0a5.5.5-10.11.9-MariaDB\0\x07\0\0\0".to_vec();
    payload.extend_from_slice(&NONCE[..8]);
    payload.extend_from_slice(&[0, a, b, 45, 2, 0, c, d, 21]);
    payload.extend_from_slice(&[0; 10]);
    payload.extend_from_slice(&NONCE[8..]);
    payload.push(0);
    payload.extend_from_slice(plugin.as_bytes());
    payload.push(0);
    packet(0, &payload)
}

fn all() -> CapabilityFlags {
    CapabilityFlags::all()
}

fn account(password: &str) -> Account {
    Account { user: "me".to_owned(), password: password.to_owned(), database: Some("shop".to_owned()) }
}

fn login(password: &str, channel: Channel, encryption: Encryption) -> Login {
    Login::new(account(password), channel, encryption)
}

/// Feeds one packet and gives the step and the payload that was answered.
fn feed(login: &mut Login, bytes: &[u8]) -> Result<(LoginStep, Vec<u8>), LoginError> {
    let mut out = Vec::new();
    let step = login.feed(&mut &bytes[..], &mut out)?;
    Ok((step, out.get(4..).unwrap_or_default().to_vec()))
}

const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

#[test]
fn a_native_password_is_proved_by_its_published_scramble() {
    let mut login = login("G!er2h7", Channel::Network, Encryption::Never);
    let (step, answer) = feed(&mut login, &greeting(all(), "mysql_native_password")).unwrap();
    assert_eq!(step, LoginStep::Continue);
    let proof = plugin::native(NONCE, b"G!er2h7");
    let tail = [b"me\0\x14", &proof[..], b"shop\0mysql_native_password\0"].concat();
    assert_eq!(answer[32..], tail);
    assert_eq!(feed(&mut login, &packet(2, OK)).unwrap().0, LoginStep::Done);
    assert_eq!((login.status(), login.greeting().connection), (2, 7));
    assert_eq!(login.greeting().version, "10.11.9-MariaDB");
    assert!(login.capabilities().contains(CapabilityFlags::CLIENT_DEPRECATE_EOF));
}

#[test]
fn an_account_of_another_plugin_is_switched_to_it() {
    let mut login = login("secret", Channel::Network, Encryption::Never);
    feed(&mut login, &greeting(all(), "something_new")).unwrap();
    let request = [b"\xfemysql_native_password\0", &NONCE[..], &[0]].concat();
    let (_, answer) = feed(&mut login, &packet(2, &request)).unwrap();
    assert_eq!(answer, plugin::native(NONCE, b"secret"));
    assert_eq!(feed(&mut login, &packet(4, OK)).unwrap().0, LoginStep::Done);
}

#[test]
fn a_zero_at_the_end_of_the_random_bytes_of_ed25519_is_one_of_them() {
    for last in [5, 0] {
        let mut login = login("secret", Channel::Network, Encryption::Never);
        feed(&mut login, &greeting(all(), "mysql_native_password")).unwrap();
        let mut nonce = [5; 32];
        nonce[31] = last;
        let request = [b"\xfeclient_ed25519\0", &nonce[..]].concat();
        let (_, answer) = feed(&mut login, &packet(2, &request)).unwrap();
        // The key that MariaDB's documentation gives for this password; ring shares no code with the signer.
        let key = STANDARD.decode("ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY=").unwrap();
        UnparsedPublicKey::new(&ED25519, key).verify(&nonce, &answer).unwrap();
    }
}

#[test]
fn caching_sha2_with_a_warm_cache_sends_the_scramble_alone() {
    let mut login = login("secret", Channel::Network, Encryption::Never);
    let (_, answer) = feed(&mut login, &greeting(all(), "caching_sha2_password")).unwrap();
    let proof = plugin::caching_sha2(NONCE, b"secret");
    assert!(answer.windows(32).any(|part| part == proof));
    assert_eq!(feed(&mut login, &packet(2, &[1, 3])).unwrap(), (LoginStep::Continue, vec![]));
    assert_eq!(feed(&mut login, &packet(3, OK)).unwrap().0, LoginStep::Done);
}

#[test]
fn caching_sha2_in_full_sends_the_password_over_a_unix_socket_and_under_tls() {
    let mut local = login("secret", Channel::Local, Encryption::Never);
    feed(&mut local, &greeting(all(), "caching_sha2_password")).unwrap();
    assert_eq!(feed(&mut local, &packet(2, &[1, 4])).unwrap().1, b"secret\0");

    let mut tls = login("secret", Channel::Network, Encryption::Always);
    let (step, request) = feed(&mut tls, &greeting(all(), "caching_sha2_password")).unwrap();
    assert_eq!((step, request.len()), (LoginStep::StartTls, 32));
    let mut out = Vec::new();
    tls.tls_started(&mut out).unwrap();
    assert_eq!(out[3], 2, "the answer follows the request for TLS");
    assert_eq!(feed(&mut tls, &packet(3, &[1, 4])).unwrap().1, b"secret\0");
}

#[test]
fn caching_sha2_in_full_without_tls_encrypts_with_the_key_of_the_server() {
    for key in [KEY_X509, KEY_PKCS1].into_iter().cycle().take(20) {
        let mut login = login("secret", Channel::Network, Encryption::Never);
        feed(&mut login, &greeting(all(), "caching_sha2_password")).unwrap();
        assert_eq!(feed(&mut login, &packet(2, &[1, 4])).unwrap().1, [2]);
        let more = [&[1], key.as_bytes()].concat();
        let (_, encrypted) = feed(&mut login, &packet(4, &more)).unwrap();
        assert_eq!(encrypted.len(), 128, "as long as the modulus, whatever it begins with");
        let plain: Vec<u8> =
            decrypt(&encrypted).iter().zip(NONCE.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
        assert_eq!(plain, b"secret\0");
    }
}

/// RSA with OAEP and SHA-1 (RFC 8017, 7.1.2).
fn decrypt(encrypted: &[u8]) -> Vec<u8> {
    let number = |hex| BigUint::parse_bytes(hex, 16).unwrap();
    let plain =
        BigUint::from_bytes_be(encrypted).modpow(&number(PRIVATE_EXPONENT), &number(MODULUS)).to_bytes_be();
    let padded = [vec![0; 128 - plain.len()], plain].concat();
    let (masked_seed, masked_data) = padded[1..].split_at(20);
    let seed = xor(masked_seed, &mask(masked_data, 20));
    let data = xor(masked_data, &mask(&seed, masked_data.len()));
    assert_eq!(data[..20], Sha1::digest([])[..]);
    let start = 21 + data[20..].iter().position(|&byte| byte == 1).unwrap();
    data[start..].to_vec()
}

#[test]
fn a_login_that_cannot_go_on_says_why() {
    let (native, no_tls) = (greeting(all(), "mysql_native_password"), all() - CapabilityFlags::CLIENT_SSL);
    let no_tls = greeting(no_tls, "mysql_native_password");
    let mut lenient = login("", Channel::Network, Encryption::IfOffered);
    assert_eq!(feed(&mut lenient, &no_tls).unwrap().0, LoginStep::Continue);
    let switch = |to: &[u8]| vec![native.clone(), packet(2, &[&b"\xfe"[..], to].concat())];
    let unknown = "authentication plugin 'auth_gssapi_client' is not supported";
    let clear = "authentication plugin 'mysql_clear_password' sends the password as it is and needs TLS";
    let old = greeting(CapabilityFlags::CLIENT_PROTOCOL_41, "");
    let full = packet(0, b"\xff\x10\x04Too many connections");
    for (encryption, said, why) in [
        (Encryption::Never, switch(b"auth_gssapi_client\0x\0"), unknown),
        (Encryption::Never, switch(b"mysql_clear_password\0"), clear),
        (Encryption::Never, vec![full], "error 1040 (HY000): Too many connections"),
        (Encryption::Never, vec![old], "server 10.11.9-MariaDB is too old"),
        (Encryption::Always, vec![no_tls], "server offers no TLS"),
        // Plain bytes behind the request for TLS.
        (Encryption::Always, vec![[native.clone(), packet(1, OK)].concat()], "bytes without a command"),
    ] {
        let mut login = login("secret", Channel::Network, encryption);
        let refused = said.iter().find_map(|bytes| feed(&mut login, bytes).err());
        assert!(refused.unwrap().to_string().contains(why), "{why}");
    }
}

proptest! {
    #[test]
    fn garbage_in_any_stage_never_panics(
        payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..4),
        first in 0_usize..5,
        greeted: bool,
    ) {
        let mut login = login("secret", Channel::Network, Encryption::IfOffered);
        let mut sequence = 0;
        if greeted {
            let without = all() - CapabilityFlags::CLIENT_SSL;
            feed(&mut login, &greeting(without, "caching_sha2_password")).unwrap();
            sequence = 2;
        }
        for mut payload in payloads {
            let header = [&b"\x0a5\0"[..], b"\x01-----BEGIN\n", b"\xfeclient_ed25519\0", b"\x01", b""];
            payload.splice(0..0, header[first].iter().copied());
            if feed(&mut login, &packet(sequence, &payload)).is_err() {
                break;
            }
            sequence = sequence.wrapping_add(2);
        }
    }

    #[test]
    fn a_damaged_key_never_panics(at: prop::sample::Index, value: u8) {
        let mut key = KEY_X509.as_bytes().to_vec();
        *at.get_mut(&mut key) = value;
        let _ = plugin::encrypt(b"secret", &key);
    }
}
