//! What is to be loaded, and what came of it.

use crate::convert::{Duplicates, Tally};
use crate::input::Input;
use crate::layout::LayoutFile;
use crate::table::Table;
use evenkeel_os::stop::Stop;
use evenkeel_site::server::Target;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

/// When further indexes are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexes {
    /// With the table.
    Before,
    /// Once all rows are in.
    After,
}

/// What becomes of a record that the server does not store as it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warnings {
    /// The load ends; nothing of its part is stored.
    End,
    /// It is a reject.
    Reject,
}

/// How rows are loaded.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Connections that send rows at a time.
    pub connections: usize,
    /// All rows in one transaction, without checks of uniqueness and foreign keys: into empty InnoDB tables.
    pub bulk: bool,
    /// When further indexes are made, where the load makes the table.
    pub indexes: Indexes,
    /// Bytes of a file in one transaction.
    pub part_bytes: u64,
    /// What becomes of records with warnings.
    pub warnings: Warnings,
    /// Forget what was loaded into tables that are empty or gone.
    pub again: bool,
}

/// What is to be loaded, and how.
pub struct Job<'a> {
    /// Where the fields are.
    pub file: &'a LayoutFile,
    /// The files, in the order in which they were named.
    pub inputs: Vec<Input>,
    /// The server, with the database of the tables.
    pub target: &'a Target,
    /// Tables by record type; made where they are missing.
    pub tables: Vec<Table>,
    /// The file of what is refused.
    pub rejects: &'a Path,
    /// What becomes of records that come twice, where the layout names a key.
    pub duplicates: Duplicates,
    /// How rows are loaded.
    pub options: Options,
    /// Bytes of lines that were sent to the server, for who watches; those of a part that is sent again count again.
    pub sent: &'a AtomicU64,
    /// Ends it early; a rerun goes on.
    pub stop: &'a Stop,
}

/// What a load brought.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Loaded {
    /// What became of the records of this load.
    pub tally: Tally,
    /// Each file, in the order in which they were named.
    pub files: Vec<LoadedFile>,
    /// Seconds for statements about the manifest and for reading the files to know them again.
    pub manifest_s: (f64, f64),
    /// What a user should know.
    pub notes: Vec<String>,
}

/// What became of a file.
#[derive(Clone, Debug, serde::Serialize)]
pub struct LoadedFile {
    /// Path of the file that this is about.
    pub path: PathBuf,
    /// As the manifest names it: where it lay when it was loaded first.
    #[serde(skip)]
    pub name: String,
    /// Bytes that were in before, unpacked.
    pub before: u64,
    /// Records that were in before, stored or refused.
    pub records_before: u64,
    /// Rows among them.
    pub rows_before: u64,
    /// Rejects among them.
    pub rejects_before: u64,
    /// What became of the others.
    pub tally: Tally,
}
