//! Data sets: their rows, the ways into a server, and the stamp that says what is there.
//!
//! [`populate`] fills a database by one of several ways ([`Via`]), which differ in the storage layout that
//! they leave; [`check`] says what a database holds.

mod check;
mod content;
pub mod dvdstore;
mod error;
mod insert;
mod keys;
mod load;
mod parallel;
mod populate;
mod progress;
mod row;
mod schema;
mod session;
mod set;
mod size;
mod spec;
mod stamp;
mod stream;
pub mod tpcw;
mod writer;

pub use check::{check, remove, verify};
pub use content::{Content, checksum};
pub use error::DataError;
pub use populate::{populate, populate_own};
pub use progress::{DataProgress, Phase};
pub use schema::{Column, Definition, Indexes, Reference};
pub use set::{DataSet, Generator, Table};
pub use size::tables_size;
pub use spec::{DataSpec, Via, ViaError};
pub use stamp::{Stamp, State};
pub use stream::RowStream;
