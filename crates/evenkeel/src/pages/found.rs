//! A file that was read, with the names of its indexes.

use evenkeel_sense::pages::{IndexLayout, IndexName, Names, Tablespace};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct FoundFile {
    /// Where the file is.
    pub path: PathBuf,
    pub space: Tablespace,
    /// Its indexes in the order of [`Tablespace::indexes`].
    pub names: Vec<IndexName>,
}

#[derive(Clone, Copy, Debug)]
pub struct FoundIndex<'a> {
    pub name: &'a IndexName,
    pub layout: &'a IndexLayout,
}

impl FoundFile {
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

/// Whether a table is one in which InnoDB keeps a full-text index: `shop/FTS_0000000000000015_CONFIG`.
pub fn is_of_full_text(table: &str) -> bool {
    let name = table.rsplit('/').next().unwrap_or_default().as_bytes();
    let is_number = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_hexdigit);
    name.len() > 20 && name[..4].eq_ignore_ascii_case(b"fts_") && is_number(&name[4..20]) && name[20] == b'_'
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
    let whole = table_of(found).0;
    let Some((database, table)) = whole.split_once('/') else { return whole == wanted };
    // What cannot be decoded is named as the file is.
    let [database, table] = [database, table].map(|name| decoded(name).unwrap_or_else(|| name.to_owned()));
    wanted == table || [".", "/"].iter().any(|between| wanted == format!("{database}{between}{table}"))
}

/// A table of the dictionary, and its partition: `shop/item#P#p0`, with small letters in MySQL 8.
pub fn table_of(found: &str) -> (&str, Option<&str>) {
    let split = found.split_once("#P#").or_else(|| found.split_once("#p#"));
    split.map_or((found, None), |(table, partition)| (table, Some(partition)))
}

/// A name as people write it. The dictionary has letters beyond plain ones by their number, `@002d` for a hyphen; `None` where it has one by
/// another code, which MySQL uses for letters of some scripts.
pub fn decoded(name: &str) -> Option<String> {
    let mut parts = name.split('@');
    let mut text = parts.next()?.to_owned();
    for part in parts {
        let (code, rest) = part.split_at_checked(4)?;
        text.push(char::from_u32(u32::from_str_radix(code, 16).ok()?)?);
        text.push_str(rest);
    }
    Some(text)
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
        assert!(is_named("my@002dshop/order@002dlines#p#p0", "my-shop.order-lines"));
        assert!(is_named("a@002eb/item", "a.b.item") && !is_named("a@1zb/item", "item@"));
        assert!(is_named("shop/b@0vcher", "shop.b@0vcher") && !is_named("shop/b@0vcher", ""));
        assert_eq!(
            (decoded("we@0060ird@003b@0020db").as_deref(), decoded("db@0p")),
            (Some("we`ird; db"), None)
        );
        assert!(is_of_full_text("shop/FTS_0000000000000015_CONFIG") && !is_of_full_text("shop/fts_queue"));
        assert!(!is_of_full_text("shop/fts_of_all_the_orders_of_today") && !is_of_full_text("FTS_"));
        assert_eq!(label(Path::new("/data/shop/item.ibd")), "shop/item");
        assert_eq!(label(Path::new("/data/ibdata1")), "ibdata1");
    }
}
