//! Bytes of the MySQL protocol, bytes in, packets out and back; and of the NBD protocol (`nbd`).
//!
//! Owns no socket, reads no clock; memory is bounded by the limits given to it. `login` brings a connection
//! from the greeting to the command phase, `command` writes commands, `response` recognises what comes back
//! in whatever pieces it arrives, `row` reads captured rows, `sql` writes parameters into text.
#![forbid(unsafe_code)]

mod bytes;
pub mod capture;
pub mod command;
mod error;
pub mod login;
pub mod nbd;
pub mod packet;
pub mod record;
pub mod relay;
pub mod response;
pub mod row;
pub mod sql;

pub use command::Parameter;
pub use error::{ProtocolError, ServerError};
pub use login::{Account, CapabilityFlags, Channel, Encryption, Greeting, Login, LoginError, LoginStep};
pub use response::{Completion, Event, Expect, ResponseReader};
pub use row::{Column, Field, Row, Shape};
pub use sql::{EscapeMode, Template, TemplateError};

/// Status flags of an OK packet.
pub mod status {
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
}
