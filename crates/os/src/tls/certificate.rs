//! The guard makes a certificate for itself at its start, and keeps it in memory.
//!
//! Nobody signed it but itself: it keeps out who listens. Whoever also wants to know that it is this guard pins it or
//! its fingerprint, for as long as the guard runs. It is one fixed form of X.509, written here, because all that it
//! needs besides, keys and signatures, is in the library under rustls.

use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// Kinds of values in DER.
const INTEGER: u8 = 0x02;
const BITS: u8 = 0x03;
const OCTETS: u8 = 0x04;
const OBJECT: u8 = 0x06;
const UTF8: u8 = 0x0c;
const UTC_TIME: u8 = 0x17;
const GENERAL_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
/// Those of a certificate alone.
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;
const DNS_NAME: u8 = 0x82;
const IP_ADDRESS: u8 = 0x87;

/// Object identifiers, encoded.
const ECDSA_WITH_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
const EC_PUBLIC_KEY: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];
const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
const COMMON_NAME: &[u8] = &[0x55, 4, 3];
const ALTERNATIVE_NAMES: &[u8] = &[0x55, 29, 17];
const EXTENDED_USE: &[u8] = &[0x55, 29, 37];
const SERVER: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 1];

/// The standard's own words for "no end". A guard has no part in what time it is, and a certificate that ended would
/// end a guard that runs for long.
const FROM: &[u8] = b"700101000000Z";
const UNTIL: &[u8] = b"99991231235959Z";

/// A new key and a certificate for it, for `localhost`; different ones each time.
pub(super) fn own() -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), ring::error::Unspecified> {
    let random = SystemRandom::new();
    let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random)?;
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, key.as_ref(), &random)
        .map_err(|_| ring::error::Unspecified)?;
    let mut serial = [0; 16];
    random.fill(&mut serial)?;
    // Positive, and without a zero in front, as the standard wants it.
    serial[0] = serial[0] & 0x7f | 0x40;
    let body = body(&serial, pair.public_key().as_ref());
    let signature = pair.sign(&random, &body)?;
    let whole = sequence(&[&body, &algorithm(), &bits(signature.as_ref())]);
    Ok((whole.into(), PrivatePkcs8KeyDer::from(key.as_ref().to_vec()).into()))
}

fn body(serial: &[u8], key: &[u8]) -> Vec<u8> {
    let version = value(VERSION, &value(INTEGER, &[2]));
    let name = name();
    let valid = sequence(&[&value(UTC_TIME, FROM), &value(GENERAL_TIME, UNTIL)]);
    let key = sequence(&[&sequence(&[&value(OBJECT, EC_PUBLIC_KEY), &value(OBJECT, P256)]), &bits(key)]);
    let serial = value(INTEGER, serial);
    sequence(&[&version, &serial, &algorithm(), &name, &valid, &name, &key, &extensions()])
}

fn algorithm() -> Vec<u8> {
    sequence(&[&value(OBJECT, ECDSA_WITH_SHA256)])
}

fn name() -> Vec<u8> {
    let part = sequence(&[&value(OBJECT, COMMON_NAME), &value(UTF8, b"evenkeel guard")]);
    sequence(&[&value(SET, &part)])
}

fn extensions() -> Vec<u8> {
    let local = [0_u8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    let names =
        [value(DNS_NAME, b"localhost"), value(IP_ADDRESS, &[127, 0, 0, 1]), value(IP_ADDRESS, &local)];
    let extension = |which, what: &[u8]| sequence(&[&value(OBJECT, which), &value(OCTETS, what)]);
    let names = extension(ALTERNATIVE_NAMES, &sequence(&names.each_ref().map(Vec::as_slice)));
    let uses = extension(EXTENDED_USE, &sequence(&[&value(OBJECT, SERVER)]));
    value(EXTENSIONS, &sequence(&[&names, &uses]))
}

fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    value(SEQUENCE, &parts.concat())
}

/// Whole bytes as bits: none of the last one's is unused.
fn bits(bytes: &[u8]) -> Vec<u8> {
    value(BITS, &[&[0], bytes].concat())
}

/// Kind, length, content. Nothing in such a certificate is as long as 64 KB.
fn value(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u16).to_be_bytes();
    let head: &[u8] = match content.len() {
        0..0x80 => &[kind, length[1]],
        0x80..0x100 => &[kind, 0x81, length[1]],
        _ => &[kind, 0x82, length[0], length[1]],
    };
    [head, content].concat()
}

/// The SHA-256 of a certificate, as `openssl x509 -fingerprint -sha256` writes it.
pub(super) fn fingerprint(certificate: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, certificate);
    let bytes: Vec<_> = digest.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
    bytes.join(":")
}
