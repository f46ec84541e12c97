//! Proving the password.

use crate::error::{ProtocolError, ServerError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::VerifyingKey;
use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use num_bigint::BigUint;
use ring::rand::{SecureRandom, SystemRandom};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

pub(super) const NATIVE: &[u8] = b"mysql_native_password";
const ED25519: &[u8] = b"client_ed25519";

const FAST_OK: u8 = 3;
const FULL_NEEDED: u8 = 4;
const KEY_REQUEST: u8 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plugin {
    Native,
    CachingSha2,
    Ed25519,
    Clear,
}

/// A plugin with the random bytes that the server sent for it.
#[derive(Debug)]
pub(super) struct Answer {
    plugin: Plugin,
    nonce: Vec<u8>,
}

/// The random bytes in what a server sent for the plugin of this name. They are text with a zero at its end,
/// except those of ed25519: its 32 bytes may end in any byte, and a zero is as much a part of them.
pub(super) fn nonce<'a>(name: &[u8], data: &'a [u8]) -> &'a [u8] {
    match name {
        ED25519 => data,
        _ => data.strip_suffix(&[0]).unwrap_or(data),
    }
}

impl Answer {
    /// The plugin of this name, if it is known.
    pub fn new(name: &[u8], nonce: Vec<u8>) -> Result<Self, ()> {
        let plugin = match name {
            NATIVE | b"" => Plugin::Native,
            b"caching_sha2_password" => Plugin::CachingSha2,
            ED25519 => Plugin::Ed25519,
            b"mysql_clear_password" => Plugin::Clear,
            _ => return Err(()),
        };
        Ok(Self { plugin, nonce })
    }

    pub fn name(&self) -> &'static [u8] {
        match self.plugin {
            Plugin::Native => NATIVE,
            Plugin::CachingSha2 => b"caching_sha2_password",
            Plugin::Ed25519 => ED25519,
            Plugin::Clear => b"mysql_clear_password",
        }
    }

    /// The first proof. An empty password is proved by nothing at all, except with ed25519, which signs
    /// with it.
    pub fn proof(&self, password: &str, private: bool) -> Result<Vec<u8>, LoginError> {
        let password = password.as_bytes();
        Ok(match self.plugin {
            Plugin::Native | Plugin::CachingSha2 if password.is_empty() => Vec::new(),
            Plugin::Native => native(&self.nonce, password),
            Plugin::CachingSha2 => caching_sha2(&self.nonce, password),
            Plugin::Ed25519 => ed25519(&self.nonce, password),
            Plugin::Clear if private => with_zero(password),
            Plugin::Clear => return Err(LoginError::NeedsTls("mysql_clear_password")),
        })
    }

    /// What the server's further data asks for, if anything. Only caching_sha2_password has any: whether
    /// its cache knew the password, and its public key.
    pub fn more(&self, data: &[u8], password: &str, private: bool) -> Result<Option<Vec<u8>>, LoginError> {
        match data {
            _ if self.plugin != Plugin::CachingSha2 => Err(ProtocolError::Malformed("login data").into()),
            [FAST_OK] => Ok(None),
            [FULL_NEEDED] if private => Ok(Some(with_zero(password.as_bytes()))),
            [FULL_NEEDED] => Ok(Some(vec![KEY_REQUEST])),
            key if key.starts_with(b"-----BEGIN") => {
                Ok(Some(encrypt(&masked(password.as_bytes(), &self.nonce), key)?))
            }
            _ => Err(ProtocolError::Malformed("login data").into()),
        }
    }
}

fn with_zero(password: &[u8]) -> Vec<u8> {
    [password, &[0]].concat()
}

/// The password with its zero, exclusive-or the nonce again and again.
fn masked(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    let mut masked = with_zero(password);
    masked.iter_mut().zip(nonce.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
    masked
}

#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    #[error("authentication plugin '{0}' is not supported")]
    UnknownPlugin(String),
    #[error("server offers no TLS")]
    NoTls,
    #[error("authentication plugin '{0}' sends the password as it is and needs TLS")]
    NeedsTls(&'static str),
    #[error("server {0} is too old")]
    TooOld(String),
    #[error("public key of the server: {0}")]
    PublicKey(#[from] PublicKeyError),
}

/// mysql_native_password: SHA1(password) xor SHA1(nonce, SHA1(SHA1(password))).
pub(super) fn native(nonce: &[u8], password: &[u8]) -> Vec<u8> {
    let hash = Sha1::digest(password);
    let mask = Sha1::new_with_prefix(nonce).chain_update(Sha1::digest(hash)).finalize();
    xor(&hash, &mask)
}

/// caching_sha2_password: SHA256(password) xor SHA256(SHA256(SHA256(password)), nonce).
pub(super) fn caching_sha2(nonce: &[u8], password: &[u8]) -> Vec<u8> {
    let hash = Sha256::digest(password);
    let mask = Sha256::new_with_prefix(Sha256::digest(hash)).chain_update(nonce).finalize();
    xor(&hash, &mask)
}

/// client_ed25519: the nonce signed with Ed25519 (RFC 8032, 5.1.6), where the password takes the place of the 32 random bytes
/// that a secret key is made of. Key and hash belong together, which signing without a key object leaves to its caller.
pub(super) fn ed25519(nonce: &[u8], password: &[u8]) -> Vec<u8> {
    let secret = ExpandedSecretKey::from_bytes(&Sha512::digest(password).into());
    raw_sign::<Sha512>(&secret, nonce, &VerifyingKey::from(&secret)).to_bytes().to_vec()
}

pub(super) fn xor(left: &[u8], right: &[u8]) -> Vec<u8> {
    left.iter().zip(right).map(|(left, right)| left ^ right).collect()
}

// RSA with the key that a server sends: for caching_sha2_password where there is no TLS. The key comes from whoever answers the
// connection, and no form of it may panic.

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
pub(super) fn mask(seed: &[u8], length: usize) -> Vec<u8> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scrambles_are_those_of_other_clients() {
        let (nonce, password) = (b"NR3HP:qIYa_9=db?Sd{`", b"G!ider27");
        let hex = |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(hex(native(nonce, password)), "09cff8855e9e705340ff2270d8fb9fadba906b70");
        assert_eq!(
            hex(caching_sha2(nonce, password)),
            "4f97bbfd202401c42a69deaae53bda077ed7578563c1a80eb816c82119b68d2e"
        );
    }
}
