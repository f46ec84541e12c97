//! Pages of data files, for people: which files are meant, what is in them as a table, as JSON and as a picture.

mod files;
mod found;
mod json;
mod live;
mod picture;
mod table;

pub use files::{of_directory, of_file};
pub use found::{FoundFile, table_of};
pub use json::json;
pub use live::{data_of, read_live};
pub use picture::picture;
pub use table::table;
