//! Names of indexes, from the server's own dictionary in its shared tablespace: a server that is stopped cannot be asked.
//!
//! MariaDB, and MySQL before 8.0, keep there the tables SYS_TABLES and SYS_INDEXES, in the old form of rows. Their leaves alone are
//! read, from the left one on.

use super::book::{Book, IndexName};
use super::format::{u8_at, u16_at, u32_at};
use super::sdi;
use super::source::PagesError;
use super::whole::{NOBODY, Page};
use std::collections::BTreeMap;
use std::path::Path;

/// The page that says where the dictionary's indexes begin.
const HEADER: u32 = 7;
/// Places in it of the roots of SYS_TABLES and SYS_INDEXES.
const ROOTS: [usize; 2] = [38 + 32, 38 + 44];
/// Pages of the dictionary that are read at most: indexes by the million.
const PAGES_MAX: usize = 100_000;
/// The indexes of the dictionary itself, and that of what waits to be written into others, which the dictionary does not name.
const OWN: [(u64, &str, &str); 5] = [
    (1, "SYS_TABLES", "CLUST_IND"),
    (2, "SYS_COLUMNS", "CLUST_IND"),
    (3, "SYS_INDEXES", "CLUST_IND"),
    (4, "SYS_FIELDS", "CLUST_IND"),
    (5, "SYS_TABLES", "ID_IND"),
];
/// Numbers from here on are those of change buffers.
pub(super) const CHANGE_BUFFER: u64 = 0xFFFF_FFFF_0000_0000;

/// Names of indexes by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    by_index: BTreeMap<u64, IndexName>,
}

impl Names {
    /// Names that somebody else knows, for example a server that was asked.
    pub fn new(names: impl IntoIterator<Item = (u64, IndexName)>) -> Self {
        let own = OWN.iter().map(|(id, table, index)| {
            (*id, IndexName { table: (*table).to_owned(), index: (*index).to_owned() })
        });
        Self { by_index: own.chain(names).collect() }
    }

    /// The name of an index.
    pub fn get(&self, index: u64) -> Option<IndexName> {
        if index >= CHANGE_BUFFER {
            return Some(IndexName { table: "change buffer".to_owned(), index: "CLUST_IND".to_owned() });
        }
        self.by_index.get(&index).cloned()
    }

    /// Whether nothing is known but what all servers have in common.
    pub fn is_empty(&self) -> bool {
        self.by_index.len() <= OWN.len()
    }

    /// Adds the names that a tablespace of MySQL 8 or later keeps itself; another one has none.
    pub fn add_of_tablespace(&mut self, path: &Path) -> Result<(), PagesError> {
        self.by_index.extend(sdi::names(&mut Book::open(path)?)?);
        Ok(())
    }

    /// The names in the shared tablespace (`ibdata1`) of a server that is stopped. One of MySQL 8.0 has none.
    pub fn read(path: &Path) -> Result<Self, PagesError> {
        let mut book = Book::open(path)?;
        book.load(HEADER)?;
        let [tables, indexes] = ROOTS.map(|place| u32_at(&book.bytes, place));
        let mut names = BTreeMap::new();
        book.each(tables, &mut |row| {
            names.extend(number(row.get(3)).map(|id| (id, text(row.first()))));
        })?;
        let mut found = Vec::new();
        book.each(indexes, &mut |row| {
            let (table, id) = (number(row.first()), number(row.get(1)));
            let table = table.and_then(|table| names.get(&table)).cloned();
            if let (Some(table), Some(id)) = (table, id) {
                found.push((id, IndexName { table, index: text(row.get(4)) }));
            }
        })?;
        Ok(Self::new(found))
    }
}

fn number(field: Option<&&[u8]>) -> Option<u64> {
    field.and_then(|bytes| (*bytes).try_into().ok()).map(u64::from_be_bytes)
}

fn text(field: Option<&&[u8]>) -> String {
    field.map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default()
}

impl Book<'_> {
    /// Tells `visit` the fields of each row of the index with this root.
    fn each(&mut self, root: u32, visit: &mut dyn FnMut(&[&[u8]])) -> Result<(), PagesError> {
        let mut page = root;
        for _ in 0..PAGES_MAX {
            self.load(page)?;
            let header = Page { bytes: &self.bytes }.index();
            let Some(header) = header else { return Err(self.source.senseless(page.into())) };
            if header.level > 0 {
                let first = rows(&self.bytes).next().and_then(|row| row.last().copied());
                page = first.map_or(NOBODY, |child| u32_at(child, 0));
            } else {
                rows(&self.bytes).for_each(|row| visit(&row));
                page = Page { bytes: &self.bytes }.next();
            }
            if page == NOBODY {
                break;
            }
        }
        Ok(())
    }
}

/// Bytes before a row that say what it is like.
const HEAD: usize = 6;

/// The rows of a page in the order of their keys, each as its fields; a field that is NULL has no bytes. Deleted ones are left out.
fn rows(page: &[u8]) -> impl Iterator<Item = Vec<&[u8]>> {
    Page { bytes: page }.rows().filter(|(_, is_deleted)| !is_deleted).map(|(at, _)| fields(page, at))
}

fn fields(page: &[u8], at: usize) -> Vec<&[u8]> {
    let count = usize::from(u16_at(page, at - 4) >> 1 & 0x3FF);
    let is_short = u8_at(page, at - 3) & 1 == 1;
    let mut start = 0;
    let mut found = Vec::new();
    for field in 1..=count {
        let width = if is_short { 1 } else { 2 };
        let Some(place) = at.checked_sub(HEAD + width * field) else { break };
        let (end, is_null) = match is_short {
            true => (u8_at(page, place) & 0x7F, u8_at(page, place) & 0x80 != 0),
            false => (0, u16_at(page, place) & 0x8000 != 0),
        };
        let end = if is_short { usize::from(end) } else { usize::from(u16_at(page, place) & 0x3FFF) };
        let bytes = page.get(at + start..at + end).filter(|_| !is_null).unwrap_or_default();
        found.push(bytes);
        start = end;
    }
    found
}
