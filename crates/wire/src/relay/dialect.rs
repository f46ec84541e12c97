//! What client and server agreed on at login, as far as it changes the form of packets.

/// The capabilities of one connection: the lower 32 bits as everybody knows them, the upper 32 MariaDB's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    bits: u64,
}

/// Bits of the capabilities.
pub(super) mod bit {
    pub const LONG_PASSWORD: u64 = 1;
    pub const CONNECT_WITH_DB: u64 = 1 << 3;
    pub const COMPRESS: u64 = 1 << 5;
    pub const PROTOCOL_41: u64 = 1 << 9;
    pub const SSL: u64 = 1 << 11;
    pub const SECURE_CONNECTION: u64 = 1 << 15;
    pub const PLUGIN_AUTH: u64 = 1 << 19;
    pub const PLUGIN_AUTH_LENENC: u64 = 1 << 21;
    pub const DEPRECATE_EOF: u64 = 1 << 24;
    pub const OPTIONAL_METADATA: u64 = 1 << 25;
    pub const ZSTD: u64 = 1 << 26;
    pub const QUERY_ATTRIBUTES: u64 = 1 << 27;
    /// Progress reports as old clients of MariaDB ask for them; something else at a MySQL server.
    pub const PROGRESS_OLD: u64 = 1 << 29;
    pub const PROGRESS: u64 = 1 << 32;
    pub const BULK: u64 = 1 << 34;
    pub const EXTENDED_METADATA: u64 = 1 << 35;
    pub const CACHE_METADATA: u64 = 1 << 36;
    pub const BULK_UNIT_RESULTS: u64 = 1 << 37;
    /// All of MariaDB's own that are known here.
    pub const MARIADB: u64 = PROGRESS | BULK | EXTENDED_METADATA | CACHE_METADATA | BULK_UNIT_RESULTS;
}

impl Dialect {
    /// From the capabilities that both sides have: those of the client's answer, masked by the greeting.
    pub fn new(capabilities: u64) -> Self {
        Self { bits: capabilities }
    }

    pub fn bits(self) -> u64 {
        self.bits
    }

    fn has(self, bit: u64) -> bool {
        self.bits & bit != 0
    }

    /// Rows end with an OK packet, and nothing stands between definitions and rows.
    pub fn deprecate_eof(self) -> bool {
        self.has(bit::DEPRECATE_EOF)
    }

    /// The column count is followed by a byte that says whether definitions follow (MariaDB 10.6).
    pub(super) fn caches_metadata(self) -> bool {
        self.has(bit::CACHE_METADATA)
    }

    /// Error packets with code 0xFFFF report progress and end nothing (MariaDB).
    pub(super) fn reports_progress(self) -> bool {
        self.has(bit::PROGRESS | bit::PROGRESS_OLD)
    }

    /// Query text is preceded by attributes (MySQL 8.0.23).
    pub(super) fn has_query_attributes(self) -> bool {
        self.has(bit::QUERY_ATTRIBUTES)
    }

    /// The plugin's name is part of a change of user.
    pub(super) fn names_plugins(self) -> bool {
        self.has(bit::PLUGIN_AUTH)
    }
}
