//! Status flags of an OK packet.

/// A transaction is open.
pub const IN_TRANSACTION: u16 = 0x0001;
/// Statements commit by themselves.
pub const AUTOCOMMIT: u16 = 0x0002;
/// Another result follows.
pub const MORE_RESULTS: u16 = 0x0008;
/// Rows are fetched from a cursor.
pub const CURSOR_EXISTS: u16 = 0x0040;
/// A backslash in a string is a backslash.
pub const NO_BACKSLASH_ESCAPES: u16 = 0x0200;
