//! Pages of the tables of a stopped server: how indexes lie.

use evenkeel_core::reads::{reads_at_once, reads_one_by_one};
use evenkeel_lab::explain::{IndexSize, PlanReport, touched};
use evenkeel_os::Stop;
use evenkeel_sense::pages::{IndexLayout, Names, PagesError, Tablespace, read};
use evenkeel_site::server::Control;
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

/// Pages that a request reads from disk, as nobody has counted it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Predicted {
    /// Where requests overlap.
    pub at_once: f64,
    /// Where each is answered before the next one comes.
    pub one_by_one: f64,
}

impl Predicted {
    /// From plans, and from what stands with a run of how its indexes lie; `None` where these do not tell.
    pub fn of(plans: &[PlanReport], noted: &str, room: f64) -> Option<Self> {
        let noted: Vec<IndexPages> = serde_json::from_str(noted).ok()?;
        let size = |index: IndexPages| {
            let (table, name) = index.index.split_once('.')?;
            Some(IndexSize {
                table: table.to_owned(),
                index: name.to_owned(),
                pages: index.pages,
                leaves: index.leaves,
                records: index.records,
            })
        };
        let sizes: Option<Vec<IndexSize>> = noted.into_iter().map(size).collect();
        let touched = touched(plans, &sizes?)?;
        Some(Self { at_once: reads_at_once(&touched, room), one_by_one: reads_one_by_one(&touched, room) })
    }
}

/// Pages that a buffer pool has for data: all but those that the server uses for itself.
pub(super) fn room(control: &mut Control) -> Option<f64> {
    let status = control.status().ok()?;
    let pages = |name: &str| status.get(name)?.parse::<f64>().ok();
    Some(pages("Innodb_buffer_pool_pages_total")? - pages("Innodb_buffer_pool_pages_misc").unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_lab::explain::PlanRow;
    use evenkeel_lab::workload::Class;

    fn plan(access: &str) -> PlanReport {
        let row = PlanRow {
            id: "1".to_owned(),
            table: "item".to_owned(),
            access: access.to_owned(),
            rows: "10000".to_owned(),
            ..PlanRow::default()
        };
        PlanReport {
            statement: "all".to_owned(),
            sample: "SELECT * FROM item".to_owned(),
            class: Class::Complex,
            reasons: Vec::new(),
            rows: vec![row],
            json: String::new(),
            rows_examined: 0.0,
            weight: 1.0,
            measured: None,
            not_made: None,
            share: None,
            proposal: None,
            rows_share: 0.0,
        }
    }

    fn noted(leaves: u64) -> String {
        let index = IndexPages {
            index: "item.PRIMARY".to_owned(),
            pages: leaves + 1,
            in_order: None,
            leaves,
            records: 10_000,
        };
        serde_json::to_string(&[index]).expect("JSON")
    }

    #[test]
    fn more_pages_of_the_same_rows_are_read_more_often_and_a_pool_with_room_for_all_reads_none() {
        let reads =
            |leaves: u64, room: f64| Predicted::of(&[plan("ALL")], &noted(leaves), room).unwrap().at_once;
        assert_eq!(reads(370, 400.0), 0.0);
        assert!(reads(370, 100.0) > 200.0 && reads(500, 100.0) > 1.3 * reads(370, 100.0));
    }

    #[test]
    fn plans_that_cannot_be_followed_predict_nothing() {
        assert_eq!(Predicted::of(&[plan("index_merge")], &noted(370), 100.0), None);
        assert_eq!(Predicted::of(&[plan("ALL")], "", 100.0), None);
    }
}
