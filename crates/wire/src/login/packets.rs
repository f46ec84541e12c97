//! What the ends of a session can do, and what a client says before the server lets it in.

use crate::bytes::put_string;

/// Largest packet announced to the server: the protocol's own limit.
const ANNOUNCED_MAX: u32 = 1 << 30;
/// utf8mb4_general_ci, known to MySQL and MariaDB alike.
const COLLATION: u8 = 45;

bitflags::bitflags! {
    /// What one end can do, or both; of the protocol's many flags those that matter here.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct CapabilityFlags: u32 {
        /// Passwords of version 4.1; MariaDB leaves it out where it shows flags of its own.
        const CLIENT_LONG_PASSWORD = 0x1;
        const CLIENT_CONNECT_WITH_DB = 0x8;
        /// LOAD DATA LOCAL.
        const CLIENT_LOCAL_FILES = 0x80;
        const CLIENT_PROTOCOL_41 = 0x200;
        /// The connection can change to TLS before the login.
        const CLIENT_SSL = 0x800;
        /// Status flags that tell of transactions.
        const CLIENT_TRANSACTIONS = 0x2000;
        /// Proofs of passwords of version 4.1.
        const CLIENT_SECURE_CONNECTION = 0x8000;
        /// Several results of a statement in text.
        const CLIENT_MULTI_RESULTS = 0x2_0000;
        /// Several results of a prepared statement.
        const CLIENT_PS_MULTI_RESULTS = 0x4_0000;
        /// The methods of login have names, and one may be changed for another.
        const CLIENT_PLUGIN_AUTH = 0x8_0000;
        /// Proofs of more than 255 bytes.
        const CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA = 0x20_0000;
        /// Rows end with an OK packet.
        const CLIENT_DEPRECATE_EOF = 0x100_0000;
    }
}

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
