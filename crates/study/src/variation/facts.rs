//! Plans, statistics of indexes and pages: read as text that stands with each run, and compared between two targets.

use evenkeel_core::why::{Compared, Facts};
use evenkeel_os::stop::Stop;
use evenkeel_sense::pages::{Names, PagesError, Wanted, read};
use evenkeel_site::server::{Control, TargetError, literal, quoted};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Notes of a run, by name; of one of several targets with its name behind.
pub(super) const PLAN: &str = "plan";
/// Sizes and distinct values of indexes, as the server guesses them.
pub(super) const STATISTICS: &str = "statistics";
/// How indexes lie in their files.
pub(super) const PAGES: &str = "pages";
/// Which start of its server a run belongs to.
pub(super) const START: &str = "start";

/// Shares in order that differ by less than this, and numbers of pages likewise, are alike.
const ALIKE: f64 = 0.05;

/// How an index lies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct IndexPages {
    pub index: String,
    pub pages: u64,
    pub in_order: Option<f64>,
}

/// The indexes of tables of a stopped server, as text.
///
/// # Errors
/// A file is not there, or not to be understood.
pub(super) fn pages_of(
    data: &Path,
    database: &str,
    tables: &[String],
    stop: &Stop,
) -> Result<String, PagesError> {
    let names = Names::read(&data.join("ibdata1")).unwrap_or_default();
    let mut found = Vec::new();
    for table in tables {
        let space =
            read(&data.join(database).join(format!("{table}.ibd")), &Wanted { range: 0.05, cells: 1 }, stop)?;
        for (at, index) in space.indexes.iter().enumerate() {
            let name = names.get(index.id).map_or_else(|| (at + 1).to_string(), |name| name.index);
            let index =
                IndexPages { index: format!("{table}.{name}"), pages: index.pages, in_order: index.in_order };
            found.push(index);
        }
    }
    Ok(serde_json::to_string(&found).unwrap_or_default())
}

/// What tables hold that nobody's data set describes, by name: their columns, and how many rows. Indexes are left out, since one that is
/// missing is a cause to be found.
///
/// # Errors
/// It does not let us look.
pub(super) fn data_of(
    control: &mut Control,
    tables: &[String],
) -> Result<BTreeMap<String, String>, TargetError> {
    let mut found = BTreeMap::new();
    for table in tables {
        let columns = control.query_value(&format!(
            "SELECT GROUP_CONCAT(CONCAT(COLUMN_NAME, ' ', COLUMN_TYPE) ORDER BY ORDINAL_POSITION SEPARATOR ', ') \
             FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {}",
            literal(table.as_bytes())
        ))?;
        let rows = control.query_value(&format!("SELECT COUNT(*) FROM {}", quoted(table)))?;
        found.insert(format!("columns of {table}"), columns.unwrap_or_default());
        found.insert(format!("rows of {table}"), rows.unwrap_or_default());
    }
    Ok(found)
}

/// What the server believes of the indexes of these tables, a line for each.
///
/// # Errors
/// It does not let us look.
pub(super) fn statistics_of(control: &mut Control, tables: &[String]) -> Result<String, TargetError> {
    let named: Vec<String> = tables.iter().map(|table| literal(table.as_bytes())).collect();
    let named = if named.is_empty() { "NULL".to_owned() } else { named.join(",") };
    let rows = control.query(&format!(
        "SELECT CONCAT(table_name, '.', index_name, ' ', stat_name), stat_value FROM mysql.innodb_index_stats \
         WHERE database_name = DATABASE() AND table_name IN ({named}) AND stat_name IN ('size', 'n_diff_pfx01') ORDER BY 1"
    ))?;
    let line = |row: &Vec<Option<String>>| row.iter().flatten().cloned().collect::<Vec<_>>().join(" ");
    Ok(rows.rows.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// A target as its notes tell of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Noted {
    pub name: String,
    pub plan: Option<String>,
    pub statistics: Option<String>,
    pub pages: Option<String>,
}

/// What two targets have besides their runs.
pub(super) fn compared(slow: &Noted, fast: &Noted) -> Facts {
    Facts { plans: plans(slow, fast), pages: pages(slow, fast) }
}

fn plans(slow: &Noted, fast: &Noted) -> Compared {
    let (Some(one), Some(other)) = (&slow.plan, &fast.plan) else {
        return Compared::Unknown("plans were not seen".to_owned());
    };
    if one == other {
        let count = one.lines().count();
        let plans = if count == 1 { "the plan is".to_owned() } else { format!("all {count} plans are") };
        return Compared::Alike(format!("{plans} the same{}", statistics(slow, fast)));
    }
    let differs = one.lines().zip(other.lines()).find(|(one, other)| one != other);
    let (one, other) = differs.unwrap_or((one, other));
    Compared::Different(format!("the plan at {} is `{one}`, at {} it is `{other}`", slow.name, fast.name))
}

fn statistics(slow: &Noted, fast: &Noted) -> String {
    let numbers = |told: &Noted| -> BTreeMap<String, f64> {
        let lines = told.statistics.iter().flat_map(|text| text.lines());
        lines
            .filter_map(|line| {
                line.rsplit_once(' ').and_then(|(name, value)| Some((name.to_owned(), value.parse().ok()?)))
            })
            .collect()
    };
    let (one, other) = (numbers(slow), numbers(fast));
    let share = |(name, value): (&String, &f64)| {
        let against = other.get(name)?;
        Some((value - against).abs() / value.max(*against).max(1.0))
    };
    match one.iter().filter_map(share).reduce(f64::max) {
        Some(most) => {
            format!(", statistics of {} indexes differ by {:.1} % at most", one.len() / 2, 100.0 * most)
        }
        None => String::new(),
    }
}

fn pages(slow: &Noted, fast: &Noted) -> Compared {
    let read =
        |told: &Noted| -> Option<Vec<IndexPages>> { serde_json::from_str(told.pages.as_deref()?).ok() };
    let (Some(one), Some(other)) = (read(slow), read(fast)) else {
        return Compared::Unknown("pages were not read, which takes servers of ours".to_owned());
    };
    if one.is_empty() || other.is_empty() {
        return Compared::Unknown("no page was read".to_owned());
    }
    if let Some(alone) = other.iter().find(|index| one.iter().all(|own| own.index != index.index)) {
        return Compared::Different(format!("{} has no index {}", slow.name, alone.index));
    }
    let mut worst: Option<(f64, String)> = None;
    for index in &one {
        let Some(against) = other.iter().find(|other| other.index == index.index) else {
            return Compared::Different(format!("{} has no index {}", fast.name, index.index));
        };
        let difference = difference(index, against);
        if worst.as_ref().is_none_or(|(most, _)| difference > *most) {
            worst = Some((difference, differ(index, against, slow, fast)));
        }
    }
    match worst {
        Some((most, words)) if most > ALIKE => Compared::Different(words),
        _ => Compared::Alike("pages of both lie alike".to_owned()),
    }
}

/// By how much two indexes lie in other ways: of the share in order, or of their size, whichever is more.
fn difference(one: &IndexPages, other: &IndexPages) -> f64 {
    let order = one.in_order.zip(other.in_order).map_or(0.0, |(one, other)| (one - other).abs());
    // A handful of leaves is in order or not by chance.
    let order = if one.pages.min(other.pages) < 10 { 0.0 } else { order };
    let (small, large) = (one.pages.min(other.pages) as f64, one.pages.max(other.pages) as f64);
    order.max(if large >= 10.0 { 1.0 - small / large } else { 0.0 })
}

fn differ(one: &IndexPages, other: &IndexPages, slow: &Noted, fast: &Noted) -> String {
    let side = |index: &IndexPages, told: &Noted| {
        let order = index
            .in_order
            .map_or_else(String::new, |share| format!(", {:.1} % of its leaves in order", 100.0 * share));
        format!("{} pages{order} at {}", index.pages, told.name)
    };
    format!("{} has {} and {}", one.index, side(one, slow), side(other, fast))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(name: &str, plan: &str, statistics: &str, in_order: f64) -> Noted {
        let pages = [IndexPages { index: "item.PRIMARY".to_owned(), pages: 400, in_order: Some(in_order) }];
        Noted {
            name: name.to_owned(),
            plan: Some(plan.to_owned()),
            statistics: Some(statistics.to_owned()),
            pages: serde_json::to_string(&pages).ok(),
        }
    }

    #[test]
    fn targets_that_are_alike_are_told_so_with_how_far_their_statistics_differ() {
        let one = told(
            "t1",
            "a: item ref i_subject",
            "item.PRIMARY size 400\nitem.PRIMARY n_diff_pfx01 1000",
            0.99,
        );
        let other =
            told("t2", "a: item ref i_subject", "item.PRIMARY size 400\nitem.PRIMARY n_diff_pfx01 900", 0.98);
        let found = compared(&one, &other);
        assert_eq!(
            found.plans,
            Compared::Alike(
                "the plan is the same, statistics of 1 indexes differ by 10.0 % at most".to_owned()
            )
        );
        assert_eq!(found.pages, Compared::Alike("pages of both lie alike".to_owned()));
    }

    #[test]
    fn another_plan_and_other_pages_are_told_with_both_sides() {
        let found =
            compared(&told("t1", "a: item ALL", "", 0.03), &told("t2", "a: item ref i_subject", "", 0.99));
        let Compared::Different(plan) = &found.plans else { panic!("{found:?}") };
        assert_eq!(plan, "the plan at t1 is `a: item ALL`, at t2 it is `a: item ref i_subject`");
        let Compared::Different(pages) = &found.pages else { panic!("{found:?}") };
        assert!(pages.contains("3.0 % of its leaves in order at t1") && pages.contains("99.0 %"), "{pages}");
    }

    #[test]
    fn what_nobody_could_read_is_unknown_and_not_alike() {
        let found = compared(&Noted::default(), &told("t2", "a", "", 0.99));
        assert!(matches!(found.plans, Compared::Unknown(_)) && matches!(found.pages, Compared::Unknown(_)));
    }
}
