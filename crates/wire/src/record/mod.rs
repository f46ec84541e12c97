//! Records of text: fields of fixed width in, delimited fields out.
//!
//! A [`Layout`] says where the fields of a record lie and what may stand in them. [`Layout::delimit`] makes a delimited line of a
//! record, as `LOAD DATA` reads it: fields parted by the delimiter, a backslash before what would be taken for something else,
//! `\N` for NULL. What does not fit is refused with a [`Reject`] and leaves nothing behind, so that every record is either a
//! line or a reject. [`Values`] reads the line again. Nothing here reads a file or remembers a record.

mod check;
mod delimit;
mod field;
mod layout;
mod plan;
mod values;
mod word;

pub use check::is_time;
pub use field::{Blank, Check, Field, Kind, Trim};
pub use layout::{Charset, Layout, LayoutError};
pub use plan::RecordType;
pub use values::{Reject, Values, What};
