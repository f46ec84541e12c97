//! Pages that a plan touches, from its rows and from how many pages its indexes have.

use super::report::{PlanReport, PlanRow};
use crate::workload::sql::{last_part, shape};
use evenkeel_core::reads::{Touched, distinct};

/// An index by what lies on its pages.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexSize {
    pub table: String,
    /// Its name; `PRIMARY` where it holds the rows.
    pub index: String,
    pub pages: u64,
    /// Those of them that hold rows or entries.
    pub leaves: u64,
    pub records: u64,
}

/// What a request touches: each execution of each statement by its plan, as often as a request has it. `None` where a plan cannot be
/// followed to its pages: a subquery that is asked for every row, an index that is not among `indexes`, a merge of indexes, a scan that a limit ends when rows are found of
/// which the server does not know how many there are. Where an index leads to rows of which a limit takes some, all of these are taken to be
/// wanted: a further condition that the server has no guess of makes it too few.
pub fn touched(plans: &[PlanReport], indexes: &[IndexSize]) -> Option<Vec<Touched>> {
    let mut all = Vec::new();
    for plan in plans.iter().filter(|plan| plan.weight > 0.0) {
        let own = of_plan(&plan.rows, &plan.sample, indexes)?;
        all.extend(own.into_iter().map(|kind| Kind { touched: kind.touched * plan.weight, ..kind }));
    }
    Some(by_page(all))
}

/// Pages of an index that a step touches.
#[derive(Clone, Debug, PartialEq)]
struct Kind {
    /// Number of the index, and whether its leaves are meant.
    of: (usize, bool),
    pages: f64,
    touched: f64,
}

/// Steps that touch the same pages as one.
fn by_page(mut all: Vec<Kind>) -> Vec<Touched> {
    all.sort_by_key(|kind| kind.of);
    let same = all.chunk_by(|one, other| one.of == other.of);
    same.map(|kinds| Touched {
        pages: kinds[0].pages,
        by_request: kinds.iter().map(|kind| kind.touched).sum(),
    })
    .collect()
}

fn of_plan(rows: &[PlanRow], sql: &str, indexes: &[IndexSize]) -> Option<Vec<Kind>> {
    let limit = limit(sql).filter(|_| !aggregates(sql));
    let is_sorted = rows.iter().any(|row| row.extra.contains("filesort") || row.extra.contains("temporary"));
    let (mut select, mut kept, mut is_after_own) = ("", 1.0, false);
    let mut all = Vec::new();
    for row in rows {
        if row.select_type.contains("DEPENDENT") || row.select_type.contains("UNCACHEABLE") {
            return None;
        }
        if row.id != select {
            (select, kept, is_after_own) = (&row.id, 1.0, false);
        }
        // Tables that a statement makes for itself have no pages of their own on disk, and how often others are asked for their rows is not known.
        if row.table.is_empty() || row.table.starts_with('<') {
            is_after_own = true;
            continue;
        }
        if is_after_own {
            return None;
        }
        let mut matched: f64 = row.rows.parse().ok()?;
        let passing = (row.filtered.parse::<f64>().unwrap_or(100.0) / 100.0).clamp(1e-6, 1.0);
        // Without a sort a limit ends the search as soon as there are enough rows.
        if let (Some(limit), false) = (limit, is_sorted) {
            if is_searched_blindly(row, passing) {
                return None;
            }
            matched = matched.min((limit / (kept * passing)).max(1.0));
        }
        all.extend(of_step(row, &table(&row.table, sql), kept, matched, indexes)?);
        kept *= matched * passing;
        // The rows of one table are sorted before others are joined to those that the limit leaves.
        if let (Some(limit), true) =
            (limit, row.extra.contains("filesort") && !row.extra.contains("temporary"))
        {
            kept = kept.min(limit);
        }
    }
    Some(all)
}

fn of_step(
    row: &PlanRow,
    table: &str,
    executions: f64,
    matched: f64,
    indexes: &[IndexSize],
) -> Option<Vec<Kind>> {
    let find = |name: &str| indexes.iter().position(|index| index.table == table && index.index == name);
    let kinds = |number: usize, touched: f64, lookups: f64| {
        let index = &indexes[number];
        let above = index.pages.saturating_sub(index.leaves) as f64;
        let leaves = Kind { of: (number, true), pages: index.leaves as f64, touched };
        // Of the pages above the leaves each search touches one of a level, and there is one level of them or two.
        let others = Kind { of: (number, false), pages: above, touched: above.min(lookups) };
        [leaves, others]
    };
    let rows = find("PRIMARY")?;
    let leaves = |number: usize| indexes[number].leaves as f64;
    match row.access.as_str() {
        "ALL" | "index" => {
            let number = if row.access == "ALL" { rows } else { find(&row.key)? };
            // Rows of earlier tables are gathered, so that there is one scan for many of them.
            let scans = if row.extra.contains("join buffer") { 1.0 } else { executions };
            // A search that a limit ends goes through a part of them.
            let is_cut = row.rows.parse::<f64>().is_ok_and(|all| matched < all);
            let records = (indexes[number].records as f64).max(1.0);
            let part = if is_cut { (matched / records).min(1.0) } else { 1.0 };
            let mut all = kinds(number, (leaves(number) * part).max(1.0) * scans, scans).to_vec();
            if number != rows && !is_covering(row) {
                all.extend(kinds(rows, distinct(leaves(rows), scans * matched, 1.0), scans * matched));
            }
            Some(all)
        }
        "system" | "const" | "eq_ref" | "ref" | "ref_or_null" | "range" => {
            let number = find(&row.key)?;
            let by_leaf = (indexes[number].records as f64 / leaves(number).max(1.0)).max(1.0);
            let wide = 1.0 + (matched - 1.0).max(0.0) / by_leaf;
            let mut all = kinds(number, distinct(leaves(number), executions, wide), executions).to_vec();
            if number != rows && !is_covering(row) {
                let lookups = executions * matched;
                all.extend(kinds(rows, distinct(leaves(rows), lookups, 1.0), lookups));
            }
            Some(all)
        }
        _ => None,
    }
}

/// Whether rows are looked through for some that the server has no guess of how often they come.
fn is_searched_blindly(row: &PlanRow, passing: f64) -> bool {
    matches!(row.access.as_str(), "ALL" | "index") && row.extra.contains("Using where") && passing >= 1.0
}

/// Whether an index has all that is asked for, so that rows themselves are left alone.
fn is_covering(row: &PlanRow) -> bool {
    row.extra.split(';').any(|word| word.trim() == "Using index")
}

/// Whether all rows make one, which a limit does not make fewer.
fn aggregates(sql: &str) -> bool {
    let upper = sql.to_ascii_uppercase();
    ["COUNT(", "SUM(", "MIN(", "MAX(", "AVG("].iter().any(|word| upper.contains(word))
}

/// The table that is called so in a statement: `item AS shown` is item.
fn table(alias: &str, sql: &str) -> String {
    let own = shape(sql).sources.into_iter().find(|source| source.alias.eq_ignore_ascii_case(alias));
    own.map_or(alias.to_owned(), |source| last_part(&source.table).to_owned())
}

fn limit(sql: &str) -> Option<f64> {
    let upper = sql.to_ascii_uppercase();
    let (_, behind) = upper.rsplit_once("LIMIT ")?;
    behind.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::report;
    use super::*;

    const NEWEST: &str = "SELECT i_id, a_fname FROM item JOIN author ON a_id = i_a_id WHERE i_subject = 'ARTS' \
                          ORDER BY i_pub_date DESC LIMIT 50";

    fn indexes() -> Vec<IndexSize> {
        let index = |table: &str, index: &str, pages: u64, records: u64| IndexSize {
            table: table.to_owned(),
            index: index.to_owned(),
            pages,
            leaves: pages - 1,
            records,
        };
        vec![
            index("item", "PRIMARY", 371, 10_000),
            index("item", "by_subject", 13, 10_000),
            index("author", "PRIMARY", 61, 2_500),
        ]
    }

    fn row(table: &str, access: &str, key: &str, rows: &str, extra: &str) -> PlanRow {
        let [table, access, key, rows, extra] = [table, access, key, rows, extra].map(str::to_owned);
        PlanRow { id: "1".to_owned(), table, access, key, rows, extra, ..PlanRow::default() }
    }

    fn plan(sql: &str, weight: f64, rows: Vec<PlanRow>) -> PlanReport {
        PlanReport { sample: sql.to_owned(), rows, ..report("one", weight, None, 0.0) }
    }

    fn told(sql: &str, rows: Vec<PlanRow>) -> Option<Vec<(f64, f64)>> {
        let touched = touched(&[plan(sql, 1.0, rows)], &indexes())?;
        Some(touched.iter().map(|kind| (kind.pages, (10.0 * kind.by_request).round() / 10.0)).collect())
    }

    #[test]
    fn rows_of_a_subject_lie_on_most_pages_of_their_table_and_few_of_its_index() {
        let by_subject = row("item", "ref", "by_subject", "417", "Using where; Using filesort");
        let author = row("author", "eq_ref", "PRIMARY", "1", "");
        // 417 rows meet 370 (1 - (1 - 1/370)^417) = 250.3 pages; 50 authors meet 60 (1 - (1 - 1/60)^50) = 34.1.
        let expected = vec![(1.0, 1.0), (370.0, 250.3), (1.0, 1.0), (12.0, 1.5), (1.0, 1.0), (60.0, 34.1)];
        assert_eq!(told(NEWEST, vec![by_subject, author.clone()]), Some(expected));
        // Sorted after the join, each of the rows asks for its author.
        let first = row("item", "ref", "by_subject", "417", "Using where; Using temporary; Using filesort");
        let all = told(NEWEST, vec![first, author]).unwrap();
        assert_eq!(all[5], (60.0, 59.9));
    }

    #[test]
    fn an_index_that_holds_all_that_is_asked_for_leaves_the_rows_alone_and_a_scan_takes_all_leaves() {
        let covered = row("item", "ref", "by_subject", "417", "Using where; Using index");
        assert_eq!(told("SELECT COUNT(*) FROM item", vec![covered]), Some(vec![(1.0, 1.0), (12.0, 1.5)]));
        let scan = row("shown", "ALL", "", "10000", "Using where");
        let expected = Some(vec![(1.0, 1.0), (370.0, 370.0)]);
        assert_eq!(told("SELECT * FROM item AS shown", vec![scan.clone()]), expected);
        assert_eq!(told("SELECT * FROM item shown", vec![scan]), expected);
    }

    #[test]
    fn a_limit_without_a_sort_ends_the_search() {
        let ten = row("item", "ref", "by_subject", "417", "Using where");
        let all = told("SELECT * FROM item WHERE i_subject = 'ARTS' LIMIT 10", vec![ten]).unwrap();
        assert_eq!(all[1], (370.0, 9.9));
    }

    #[test]
    fn a_scan_of_an_index_that_lacks_a_column_asks_for_rows_and_a_limit_ends_it() {
        let scan = |extra: &str, rows: &str| row("item", "index", "by_subject", rows, extra);
        assert_eq!(
            told("SELECT * FROM item", vec![scan("Using index", "10000")]),
            Some(vec![(1.0, 1.0), (12.0, 12.0)])
        );
        let all = told("SELECT * FROM item", vec![scan("", "10000")]).unwrap();
        assert_eq!((all[1], all[3]), ((370.0, 370.0), (12.0, 12.0)));
        let few = told("SELECT * FROM item ORDER BY i_subject LIMIT 50", vec![scan("", "10000")]).unwrap();
        assert_eq!((few[1], few[3]), ((370.0, 46.8), (12.0, 1.0)));
        let filtered = PlanRow { filtered: "10.00".to_owned(), ..scan("Using where", "10000") };
        let ten_times = told("SELECT * FROM item ORDER BY i_subject LIMIT 50", vec![filtered]).unwrap();
        assert!(ten_times[1].1 > 270.0, "{ten_times:?}");
        // How many rows are looked through for fifty of which nobody knows how often they come is not known.
        let blind =
            told("SELECT * FROM item ORDER BY i_subject LIMIT 50", vec![scan("Using where", "10000")]);
        assert_eq!(blind, None);
        let counted = told("SELECT COUNT(*) FROM item LIMIT 1", vec![scan("Using index", "10000")]);
        assert_eq!(counted, Some(vec![(1.0, 1.0), (12.0, 12.0)]));
    }

    #[test]
    fn statements_touch_by_how_often_a_request_has_them() {
        let read = |weight: f64| {
            plan("SELECT * FROM item WHERE i_id = 1", weight, vec![row("item", "const", "PRIMARY", "1", "")])
        };
        let touched = touched(&[read(0.5), read(1.0), read(0.0)], &indexes()).unwrap();
        assert_eq!(touched.len(), 2, "{touched:?}");
        assert!(touched.iter().all(|kind| (kind.by_request - 1.5).abs() < 1e-9), "{touched:?}");
    }

    #[test]
    fn what_cannot_be_followed_to_its_pages_is_not_told() {
        for row in [
            row("nowhere", "ALL", "", "9", ""),
            row("item", "index_merge", "a,b", "9", ""),
            row("item", "ref", "no_such", "9", ""),
            row("item", "ALL", "", "", ""),
            PlanRow { select_type: "DEPENDENT SUBQUERY".to_owned(), ..row("item", "ALL", "", "9", "") },
        ] {
            assert_eq!(told("SELECT 1", vec![row.clone()]), None, "{row:?}");
        }
        assert_eq!(told("SELECT 1", vec![row("", "", "", "", "No tables used")]), Some(vec![]));
        let derived = row("<derived2>", "ALL", "", "50", "");
        assert_eq!(told("SELECT 1", vec![derived, row("item", "eq_ref", "PRIMARY", "1", "")]), None);
    }
}
