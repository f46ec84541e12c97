//! RSA with the key that a server sends: for caching_sha2_password where there is no TLS.
//!
//! The key comes from whoever answers the connection, and no form of it may panic.

use super::proof::xor;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use num_bigint::BigUint;
use ring::rand::{SecureRandom, SystemRandom};
use sha1::{Digest, Sha1};

const MODULUS_BITS: std::ops::RangeInclusive<u64> = 1024..=16_384;
/// Bits of an exponent: 65537 has 17.
const EXPONENT_BITS_MAX: u64 = 64;
/// Bytes of a SHA-1.
const HASH_BYTES: usize = 20;
/// OAEP with SHA-1 takes this much of the modulus.
const PADDING_BYTES: usize = 2 * HASH_BYTES + 2;

const TAG_INTEGER: u8 = 0x02;
const TAG_BIT_STRING: u8 = 0x03;
const TAG_SEQUENCE: u8 = 0x30;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublicKeyError {
    #[error("not an RSA key in PEM")]
    Form,
    #[error("modulus of {0} bits")]
    Size(u64),
    #[error("password of {0} bytes does not fit")]
    Password(usize),
    #[error("no random numbers to be had")]
    Random,
}

/// Encrypts `message` for the owner of the key.
pub(super) fn encrypt(message: &[u8], pem: &[u8]) -> Result<Vec<u8>, PublicKeyError> {
    let (modulus, exponent) = parse(pem).ok_or(PublicKeyError::Form)?;
    let bits = modulus.bits();
    if !MODULUS_BITS.contains(&bits) || exponent.bits() > EXPONENT_BITS_MAX {
        return Err(PublicKeyError::Size(bits));
    }
    let size = bits.div_ceil(8) as usize;
    if message.len() + PADDING_BYTES > size {
        return Err(PublicKeyError::Password(message.len()));
    }
    let mut seed = [0; HASH_BYTES];
    SystemRandom::new().fill(&mut seed).map_err(|_| PublicKeyError::Random)?;
    let padded = BigUint::from_bytes_be(&pad(message, &seed, size));
    let encrypted = padded.modpow(&exponent, &modulus).to_bytes_be();
    Ok([vec![0; size.saturating_sub(encrypted.len())], encrypted].concat())
}

/// OAEP with SHA-1 and without a label (RFC 8017, 7.1.1), for a modulus of `size` bytes. The message fits.
fn pad(message: &[u8], seed: &[u8; HASH_BYTES], size: usize) -> Vec<u8> {
    let mut data = Sha1::digest([]).to_vec();
    data.resize(size - HASH_BYTES - 2 - message.len(), 0);
    data.push(1);
    data.extend_from_slice(message);
    let data = xor(&data, &mask(seed, data.len()));
    let seed = xor(seed, &mask(&data, HASH_BYTES));
    [vec![0], seed, data].concat()
}

/// So many bytes that follow from a seed: MGF1 with SHA-1 (RFC 8017, B.2.1).
fn mask(seed: &[u8], length: usize) -> Vec<u8> {
    let blocks = (0_u32..).flat_map(|block| Sha1::digest([seed, &block.to_be_bytes()].concat()));
    blocks.take(length).collect()
}

/// Modulus and exponent of `BEGIN PUBLIC KEY` (X.509) or `BEGIN RSA PUBLIC KEY` (PKCS 1).
fn parse(pem: &[u8]) -> Option<(BigUint, BigUint)> {
    let text = std::str::from_utf8(pem).ok()?;
    let body: String = text.lines().map(str::trim).filter(|line| !line.starts_with('-')).collect();
    let der = STANDARD.decode(body.trim_end_matches('\0')).ok()?;
    let mut key = element(&mut &der[..], TAG_SEQUENCE)?;
    if key.first() == Some(&TAG_SEQUENCE) {
        element(&mut key, TAG_SEQUENCE)?;
        let (unused_bits, inner) = element(&mut key, TAG_BIT_STRING)?.split_first()?;
        key = element(&mut &inner[..], TAG_SEQUENCE).filter(|_| *unused_bits == 0)?;
    }
    let modulus = element(&mut key, TAG_INTEGER)?;
    let exponent = element(&mut key, TAG_INTEGER)?;
    Some((BigUint::from_bytes_be(modulus), BigUint::from_bytes_be(exponent)))
}

/// The content of the DER element at the front, which is taken.
fn element<'a>(input: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let (found, rest) = input.split_first()?;
    let (&first, mut rest) = rest.split_first()?;
    let length = match first {
        0..=0x7f => usize::from(first),
        0x81..=0x83 => {
            let (bytes, after) = rest.split_at_checked(usize::from(first & 0x7f))?;
            rest = after;
            bytes.iter().fold(0, |length, &byte| length << 8 | usize::from(byte))
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    *input = rest;
    (*found == tag).then_some(content)
}
