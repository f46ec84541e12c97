//! Records of text: fields of fixed width or fields with delimiters in, delimited fields out.
//!
//! A [`Layout`] says where the fields of a record lie and what may stand in them; with a [`Dialect`] places are columns, not bytes. [`Layout::delimit`] makes a delimited line of a
//! record, as `LOAD DATA` reads it: fields parted by the delimiter, a backslash before what would be taken for something else,
//! `\N` for NULL. What does not fit is refused with a [`Reject`] and leaves nothing behind, so that every record is either a
//! line or a reject. [`Values`] reads the line again. Nothing here reads a file or remembers a record.

mod check;
mod delimit;
mod dialect;
mod field;
mod layout;
mod pattern;
mod plan;
mod values;
mod what;
mod word;

pub use dialect::Dialect;
pub use field::{Blank, Check, Field, Kind, Trim};
pub use layout::{Charset, Layout, LayoutError};
pub use pattern::{Pattern, is_time};
pub use plan::RecordType;
pub use values::{Reject, Values};
pub use what::What;
