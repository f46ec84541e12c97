//! What proves that somebody knows a password without telling it, to a server that chose the `nonce`.

use ed25519_dalek::VerifyingKey;
use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

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
