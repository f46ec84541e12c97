//! Pages of data files, for people: which files are meant, what is in them as a table and as JSON.

mod files;
mod found;
mod json;
mod live;
mod table;

pub use files::{of_directory, of_file};
pub use found::{FoundFile, table_of};
pub use json::json;
pub use live::{data_of, read_live};
pub use table::table;
