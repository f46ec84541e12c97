//! Reads from disk that pages and plan foretell.

use super::pages::IndexPages;
use evenkeel_core::reads::{reads_at_once, reads_one_by_one};
use evenkeel_lab::explain::{IndexSize, PlanReport, touched};
use evenkeel_site::server::Control;

/// Pages that a request reads from disk, as nobody has counted it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Foretold {
    /// Where requests overlap.
    pub at_once: f64,
    /// Where each is answered before the next one comes.
    pub one_by_one: f64,
}

impl Foretold {
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
            |leaves: u64, room: f64| Foretold::of(&[plan("ALL")], &noted(leaves), room).unwrap().at_once;
        assert_eq!(reads(370, 400.0), 0.0);
        assert!(reads(370, 100.0) > 200.0 && reads(500, 100.0) > 1.3 * reads(370, 100.0));
    }

    #[test]
    fn plans_that_cannot_be_followed_foretell_nothing() {
        assert_eq!(Foretold::of(&[plan("index_merge")], &noted(370), 100.0), None);
        assert_eq!(Foretold::of(&[plan("ALL")], "", 100.0), None);
    }
}
