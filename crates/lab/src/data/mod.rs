//! Data sets: their rows, the ways into a server, and the stamp that says what is there.
//!
//! [`populate`] fills a database by one of several ways ([`Via`]), which differ in the storage layout that
//! they leave; [`check`] says what a database holds.

pub mod dvdstore;
mod populate;
mod schema;
mod session;
mod set;
mod stamp;
mod stream;
pub mod tpcw;
mod ways;

pub use populate::{check, populate, populate_own, remove, tables_size, verify};
pub use schema::{Column, Definition, Indexes, Reference};
pub use session::{DataError, DataProgress, Phase};
pub use set::{DataSet, Generator, Table};
pub use stamp::{DataSpec, Stamp, State, Via};
pub use stream::{Content, RowStream, checksum};
