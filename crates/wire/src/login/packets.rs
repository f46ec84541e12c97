//! What a client says before the server lets it in.

use super::CapabilityFlags;
use crate::bytes::put_string;

/// Largest packet announced to the server: the protocol's own limit.
const ANNOUNCED_MAX: u32 = 1 << 30;
/// utf8mb4_general_ci, known to MySQL and MariaDB alike.
const COLLATION: u8 = 45;

/// The request for TLS, which is also what the answer to a greeting begins with.
pub(super) fn put_ssl_request(out: &mut Vec<u8>, capabilities: CapabilityFlags) {
    out.extend_from_slice(&capabilities.bits().to_le_bytes());
    out.extend_from_slice(&ANNOUNCED_MAX.to_le_bytes());
    out.push(COLLATION);
    // The last four are MariaDB's own flags, of which none is used.
    out.extend_from_slice(&[0; 23]);
}

/// The answer to a greeting.
pub(super) struct Hello<'a> {
    pub capabilities: CapabilityFlags,
    pub user: &'a str,
    pub proof: &'a [u8],
    pub database: Option<&'a str>,
    pub plugin: &'a [u8],
}

impl Hello<'_> {
    pub fn put(&self, out: &mut Vec<u8>) {
        put_ssl_request(out, self.capabilities);
        put_with_zero(out, self.user.as_bytes());
        // With a length before it, in either of two forms: for a first proof, which has 64 bytes at most, they are the same.
        put_string(out, self.proof);
        if self.capabilities.contains(CapabilityFlags::CLIENT_CONNECT_WITH_DB) {
            put_with_zero(out, self.database.unwrap_or_default().as_bytes());
        }
        put_with_zero(out, self.plugin);
    }
}

/// A text that ends with a zero; one inside would end it, too.
fn put_with_zero(out: &mut Vec<u8>, text: &[u8]) {
    out.extend(text.iter().copied().take_while(|&byte| byte != 0));
    out.push(0);
}
