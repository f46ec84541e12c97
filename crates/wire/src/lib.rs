//! Bytes of the MySQL protocol, bytes in, packets out and back; and of the NBD protocol (`nbd`).
//!
//! Owns no socket, reads no clock; memory is bounded by the limits given to it. `login` brings a connection
//! from the greeting to the command phase, `command` writes commands, `response` recognises what comes back
//! in whatever pieces it arrives, `row` reads captured rows, `sql` writes parameters into text.
#![forbid(unsafe_code)]

mod bytes;
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
pub mod status;

pub use command::Parameter;
pub use error::{ProtocolError, ServerError};
pub use login::{Account, CapabilityFlags, Channel, Encryption, Greeting, Login, LoginError, LoginStep};
pub use response::{Completion, Event, Expect, ResponseReader};
pub use row::{Column, Field, Row};
pub use sql::{EscapeMode, Template, TemplateError};
