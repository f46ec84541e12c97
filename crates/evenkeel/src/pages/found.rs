//! A file that was read, with the names of its indexes.

use evenkeel_sense::pages::{IndexLayout, IndexName, Names, Tablespace};
use std::path::{Path, PathBuf};

/// A file and what is in it.
#[derive(Debug)]
pub struct FoundFile {
    /// Where the file is.
    pub path: PathBuf,
    /// What its pages say.
    pub space: Tablespace,
    /// Its indexes in the order of [`Tablespace::indexes`].
    pub names: Vec<IndexName>,
}

/// One index of a file.
#[derive(Clone, Copy, Debug)]
pub struct FoundIndex<'a> {
    /// What it is called.
    pub name: &'a IndexName,
    /// How it lies.
    pub layout: &'a IndexLayout,
}

impl FoundFile {
    /// Names what was read.
    pub fn new(path: &Path, space: Tablespace, names: &Names) -> Self {
        let name = |index: &IndexLayout| {
            let unknown = || IndexName { table: label(path), index: format!("index {}", index.id) };
            names.get(index.id).unwrap_or_else(unknown)
        };
        let names = space.indexes.iter().map(name).collect();
        Self { path: path.to_owned(), space, names }
    }

    /// Indexes of a table, or of all but the server's own, by table and then as they were made.
    pub fn indexes(&self, table: Option<&str>, all: bool) -> Vec<FoundIndex<'_>> {
        let found = self.names.iter().zip(&self.space.indexes);
        let mut found: Vec<_> = found.map(|(name, layout)| FoundIndex { name, layout }).collect();
        found.retain(|index| match table {
            Some(table) => is_named(&index.name.table, table),
            None => all || !is_own(&index.name.table),
        });
        found.sort_by(|a, b| (&a.name.table, a.layout.id).cmp(&(&b.name.table, b.layout.id)));
        found
    }

    /// The name of an index by its number.
    pub fn name_of(&self, id: u64) -> Option<&IndexName> {
        self.space.indexes.iter().position(|index| index.id == id).and_then(|at| self.names.get(at))
    }
}

/// Whether a table is the server's own.
fn is_own(table: &str) -> bool {
    let database = table.split_once('/').map_or("", |(database, _)| database);
    matches!(database, "mysql" | "sys" | "performance_schema")
        || table.starts_with("SYS_")
        || matches!(table, "change buffer" | "ibdata1")
}

/// The table of a file, as the server's dictionary writes it: `shop/item`.
pub fn label(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let is_table = path.extension().is_some_and(|end| end == "ibd");
    let database = path.parent().and_then(Path::file_name).filter(|_| is_table);
    database.map_or_else(|| stem.clone().into_owned(), |name| format!("{}/{stem}", name.to_string_lossy()))
}

/// Whether a table of the dictionary (`shop/item`, a partition `shop/item#P#p0`) is meant by `item`, `shop.item` or `shop/item`.
pub fn is_named(found: &str, wanted: &str) -> bool {
    let wanted = wanted.replacen('.', "/", 1);
    let found = found.split("#P#").next().unwrap_or(found);
    found == wanted || found.split_once('/').is_some_and(|(_, table)| table == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_named_with_its_database_or_without() {
        for wanted in ["item", "shop.item", "shop/item"] {
            assert!(is_named("shop/item", wanted) && is_named("shop/item#P#p0", wanted), "{wanted}");
            assert!(!is_named("shop/items", wanted) && !is_named("item/shop", wanted), "{wanted}");
        }
        assert_eq!(label(Path::new("/data/shop/item.ibd")), "shop/item");
        assert_eq!(label(Path::new("/data/ibdata1")), "ibdata1");
    }
}
