//! The pages of InnoDB's files: to which index each belongs, how full it is, and where the next one in the order of keys lies.
//!
//! A file is read once, from its beginning to its end, in large reads: [`read`]. Every page is judged by its checksum and by
//! where it says that it belongs (`whole`), counted by kind and by level of its index (`tally`), and its neighbours are kept in a table
//! (`links`) of a little more than ten bytes a page, through which each chain is then followed (`walk`). What is packed, encrypted,
//! damaged or being written is refused as a whole: a file has all of its figures or none.
//! Nobody may write meanwhile: files are those of a stopped server, or held by FLUSH TABLES ... FOR EXPORT.

mod bytes;
mod checksum;
mod dictionary;
mod error;
mod extents;
mod format;
mod gather;
mod held;
mod kind;
mod layout;
mod links;
mod page;
mod read;
mod rows;
mod source;
mod tally;
#[cfg(test)]
mod tests;
mod walk;
mod whole;

pub use dictionary::{IndexName, Names};
pub use error::PagesError;
pub use format::Format;
pub use held::holder;
pub use kind::PageKind;
pub use layout::{Broken, FILLS, Fault, IndexLayout, RangeCost, Tablespace};
pub use read::read;
