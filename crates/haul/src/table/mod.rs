//! Tables for the records of a layout.
//!
//! [`Table::of`] gives each field that is kept a column wide enough for all that the field can hold, [`Table::create_sql`] says how
//! to make the table, and [`Table::load_sql`] how its lines are loaded. A table that is there already is held against the layout
//! by [`Found::check`].

mod column;
mod fold;
mod found;
mod name;
mod sql;

pub use column::Column;
pub use evenkeel_site::server::{literal, quoted};
pub(crate) use fold::folded;
pub use found::{Found, FoundColumn};

use crate::{Refused, refused};
use evenkeel_wire::record::{Blank, Charset, Field, Layout};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    InnoDb,
    MyIsam,
    Aria,
}

impl Engine {
    /// As the server writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::InnoDb => "InnoDB",
            Self::MyIsam => "MyISAM",
            Self::Aria => "Aria",
        }
    }

    /// By the server's word for it; `None` of any other engine.
    pub fn of(name: &str) -> Option<Self> {
        [Self::InnoDb, Self::MyIsam, Self::Aria]
            .into_iter()
            .find(|each| each.name().eq_ignore_ascii_case(name))
    }

    /// Whether a statement that was cut leaves nothing behind.
    pub fn has_transactions(self) -> bool {
        self == Self::InnoDb
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub name: String,
    pub columns: Vec<Column>,
    pub primary: Vec<String>,
    pub indexes: Vec<Vec<String>>,
    pub charset: Charset,
    pub engine: Engine,
    pub delimiter: u8,
}

impl Table {
    pub fn of(
        layout: &Layout,
        index: usize,
        name: &str,
        engine: Engine,
        indexes: &[Vec<String>],
    ) -> Result<Self, Refused> {
        let of = &layout.types()[index];
        let columns: Vec<_> = of.fields.iter().filter(|field| field.kept).map(Column::of).collect();
        check_names(name, &columns)?;
        let key = of.key.iter().filter_map(|index| of.fields.get(*index));
        if let Some(skipped) = key.clone().find(|field| !field.kept) {
            return Err(refused(
                format!("the key names `{}`, which is skipped and becomes no column", skipped.name),
                "take `skip` from that field, or the field from the key",
            ));
        }
        let is_null = |field: &Field| field.blank == Blank::Null;
        let names: Vec<String> = key.clone().map(|field| field.name.clone()).collect();
        let mut indexes = indexes.to_vec();
        let primary = match key.into_iter().any(is_null) {
            true => {
                indexes.insert(0, names);
                Vec::new()
            }
            false => names,
        };
        let (charset, delimiter) = (layout.charset(), layout.delimiter());
        let table = Self { name: name.to_owned(), columns, primary, indexes, charset, engine, delimiter };
        let there = |name: &&String| table.columns.iter().any(|column| column.name == **name);
        match table.indexes.iter().flatten().find(|name| !there(name)) {
            Some(name) => Err(refused(
                format!("an index names `{name}`, and no column has that name"),
                "name columns of the layout, as --index calling,start",
            )),
            None => Ok(table),
        }
    }
}

/// Servers look at no difference between small and large letters in the names of columns.
fn check_names(table: &str, columns: &[Column]) -> Result<(), Refused> {
    const HINT: &str = "rename it in the layout, or by --table";
    let names = columns.iter().map(|column| column.name.as_str()).chain([table]);
    if let Some(bad) = names.into_iter().find(|name| !name::can_be(name)) {
        let what = "is no name of a table or column: 1 to 64 letters, none of them a control character, and no space at the end";
        return Err(refused(format!("{bad:?} {what}"), HINT));
    }
    let mut seen = std::collections::BTreeMap::new();
    for column in columns {
        if let Some(first) = seen.insert(column.name.to_lowercase(), &column.name) {
            let (first, second) = (first, &column.name);
            let what = format!(
                "columns `{first}` and `{second}` have the same name for the server, which ignores case"
            );
            return Err(refused(what, HINT));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
