//! What the ends of a session can do.

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
