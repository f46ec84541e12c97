//! Pages of data files, for people: which files are meant, what is in them as a table and as JSON.

mod files;
mod live;

pub use files::{json, of_directory, of_file, room_lines, table};
pub use live::{FoundFile, data_of, read_live, table_of};
