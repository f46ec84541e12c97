//! Pages of the tables of a stopped server: how indexes lie.

use evenkeel_os::stop::Stop;
use evenkeel_sense::pages::{IndexLayout, Names, PagesError, Tablespace, read};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The tablespace that tables without a file of their own share.
const SHARED: &str = "ibdata1";
/// Share of an index that a range of keys reads; what that touches is not kept here.
const RANGE: f64 = 0.05;

/// How an index lies, as it stands with a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexPages {
    /// Table and index, as `item.PRIMARY`.
    pub index: String,
    pub pages: u64,
    /// Share of leaves whose successor in the order of keys is the next page of the file.
    pub in_order: Option<f64>,
    pub leaves: u64,
    /// Rows, or entries of an index.
    pub records: u64,
}

/// The indexes of tables of a stopped server.
pub(super) fn pages_of(
    data: &Path,
    database: &str,
    tables: &[String],
    stop: &Stop,
) -> Result<Vec<IndexPages>, PagesError> {
    let names = Names::read(&data.join(SHARED)).unwrap_or_default();
    let mut found = Vec::new();
    let own = |table: &String| data.join(database).join(format!("{table}.ibd"));
    let (apart, together): (Vec<&String>, Vec<&String>) =
        tables.iter().partition(|table| own(table).is_file());
    for table in apart {
        let space = read(&own(table), RANGE, stop)?;
        let name = |index: &IndexLayout| {
            let number = || space.indexes.iter().position(|one| one.id == index.id).map_or(0, |at| at + 1);
            let name = names.get(index.id).map_or_else(|| number().to_string(), |name| name.index);
            format!("{table}.{name}")
        };
        found.extend(lying(&space, name));
    }
    if !together.is_empty() {
        let space = read(&data.join(SHARED), RANGE, stop)?;
        let own = format!("{database}/");
        // Of the file that tables share, the dictionary alone tells what is whose.
        let name = |index: &IndexLayout| match names.get(index.id) {
            Some(name) => format!("{}.{}", name.table.strip_prefix(&own).unwrap_or(&name.table), name.index),
            None => format!("index {}", index.id),
        };
        let is_wanted = |index: &IndexPages| {
            let table = index.index.split_once('.').map(|(table, _)| table);
            together.iter().any(|wanted| table == Some(wanted.as_str()))
        };
        found.extend(lying(&space, name).into_iter().filter(is_wanted));
    }
    Ok(found)
}

fn lying(space: &Tablespace, name: impl Fn(&IndexLayout) -> String) -> Vec<IndexPages> {
    let one = |index: &IndexLayout| IndexPages {
        index: name(index),
        pages: index.pages,
        in_order: index.in_order,
        leaves: index.leaves,
        records: index.records,
    };
    space.indexes.iter().map(one).collect()
}
