//! Whether targets are several servers, and what of them is compared: plans, statistics of indexes and pages, read as text that stands with
//! each run.

use super::pages::IndexPages;
use crate::published::{PublishedError, Result};
use crate::store::format::ServerRecord;
use evenkeel_core::why::{Compared, Facts};
use evenkeel_os::Stop;
use evenkeel_os::clock::unix_time;
use evenkeel_site::server::{Control, Target, TargetError, literal, quoted};
use std::collections::BTreeMap;

/// Notes of a run, by name; of one of several targets with its name behind.
pub(super) const PLAN: &str = "plan";
/// Sizes and distinct values of indexes, as the server guesses them.
pub(super) const STATISTICS: &str = "statistics";
pub(super) const ROOM: &str = "pool_pages";
/// How indexes lie in their files.
pub(super) const PAGES: &str = "pages";
/// Which start of its server a run belongs to.
pub(super) const START: &str = "start";

/// Shares in order that differ by less than this, and numbers of pages likewise, are alike.
const ALIKE: f64 = 0.05;
/// An index of fewer pages, an extent, takes them one by one from wherever there is one, and is in order or not by chance.
const PAGES_MIN: u64 = 64;

/// What tables hold that nobody's data set describes, by name: their columns, and how many rows. Indexes are left out, since one that is
/// missing is a cause to be found.
pub(super) fn data_of(
    control: &mut Control,
    tables: &[String],
) -> Result<BTreeMap<String, String>, TargetError> {
    let mut found = BTreeMap::new();
    for table in tables {
        // Row by row: what GROUP_CONCAT gives ends where a setting of the server says.
        let columns = control.query(&format!(
            "SELECT CONCAT(COLUMN_NAME, ' ', COLUMN_TYPE) FROM information_schema.COLUMNS \
             WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {} ORDER BY ORDINAL_POSITION",
            literal(table.as_bytes())
        ))?;
        let columns: Vec<String> = columns.rows.into_iter().flatten().flatten().collect();
        let rows = control.query_value(&format!("SELECT COUNT(*) FROM {}", quoted(table)))?;
        found.insert(format!("columns of {table}"), columns.join(", "));
        found.insert(format!("rows of {table}"), rows.unwrap_or_default());
    }
    Ok(found)
}

/// What the server believes of the indexes of these tables, a line for each.
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

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Noted {
    pub name: String,
    pub plan: Option<String>,
    pub statistics: Option<String>,
    pub pages: Option<String>,
    pub room: Option<String>,
    /// Whether it is far, and the delay of its network known by probes alone.
    pub by_probes: bool,
}

/// What two targets have besides their runs.
pub(super) fn compared(slow: &Noted, fast: &Noted) -> Facts {
    Facts {
        plans: plans(slow, fast),
        pages: pages(slow, fast),
        pools_differ: pools_differ(slow, fast),
        by_probes: slow.by_probes || fast.by_probes,
        side_by_side: false,
    }
}

/// Whether both pools are known, and have room for other numbers of pages.
fn pools_differ(slow: &Noted, fast: &Noted) -> bool {
    let room = |told: &Noted| told.room.as_deref()?.parse::<f64>().ok();
    room(slow).zip(room(fast)).is_some_and(|(one, other)| (one - other).abs() > ALIKE * one.max(other))
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
    let both = slow.statistics.as_deref().zip(fast.statistics.as_deref());
    match both.and_then(|(one, other)| Some((numbers(one).len() / 2, apart(one, other)?))) {
        Some((indexes, most)) => {
            format!(", statistics of {indexes} indexes differ by {:.1} % at most", 100.0 * most)
        }
        None => String::new(),
    }
}

fn numbers(text: &str) -> BTreeMap<&str, f64> {
    let of_line = |line| {
        let (name, value) = str::rsplit_once(line, ' ')?;
        Some((name, value.parse().ok()?))
    };
    text.lines().filter_map(of_line).collect()
}

/// By which share two sets of statistics differ at most; `None` where they have none in common.
pub(super) fn apart(one: &str, other: &str) -> Option<f64> {
    let (one, other) = (numbers(one), numbers(other));
    let share = |(name, value): (&&str, &f64)| {
        let against = other.get(*name)?;
        Some((value - against).abs() / value.max(*against).max(1.0))
    };
    one.iter().filter_map(share).reduce(f64::max)
}

fn pages(slow: &Noted, fast: &Noted) -> Compared {
    let read =
        |told: &Noted| -> Option<Vec<IndexPages>> { serde_json::from_str(told.pages.as_deref()?).ok() };
    let (Some(one), Some(other)) = (read(slow), read(fast)) else {
        return Compared::Unknown("pages were not read, which needs private servers".to_owned());
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
    let (small, large) = (one.pages.min(other.pages), one.pages.max(other.pages));
    let order = if small < PAGES_MIN { 0.0 } else { order };
    order.max(if large < PAGES_MIN { 0.0 } else { 1.0 - small as f64 / large as f64 })
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

/// Where a server says that it is. Machines that were cloned may say the same, so that this alone settles nothing.
const PLACE: [&str; 4] = ["hostname", "port", "datadir", "socket"];

/// Refuses targets that are one server; `is_one` is asked of pairs that say that they are in the same place.
pub(super) fn each_once(
    targets: &[(String, &ServerRecord)],
    is_one: &dyn Fn(usize, usize) -> Result<bool>,
) -> Result<()> {
    for (at, (one, record)) in targets.iter().enumerate() {
        for (before, (other, against)) in targets[..at].iter().enumerate() {
            if in_one_place(record, against) && is_one(before, at)? {
                return Err(PublishedError::with_hint(
                    format!("{other} and {one} are one server"),
                    "name each server once; its starts and runs show how a server differs from itself",
                ));
            }
        }
    }
    Ok(())
}

/// One that does not tell where it is may be anywhere.
fn in_one_place(one: &ServerRecord, other: &ServerRecord) -> bool {
    PLACE.iter().all(|name| {
        let (one, other) = (one.variables.get(*name), other.variables.get(*name));
        one.is_some_and(|value| !value.is_empty()) && one == other
    })
}

/// Whether a lock that is taken by one name is seen as taken by the other. Where locks are refused, as by some proxies, the place
/// that both tell has to do.
pub(super) fn share_locks(one: &Target, other: &Target, stop: &Stop) -> Result<bool> {
    let lock = format!("evenkeel_{}_{}", std::process::id(), unix_time().as_nanos());
    let mut holder = Control::connect_until(one, stop)?;
    let mut observer = Control::connect_until(other, stop)?;
    let taken = holder.query_value(&format!("SELECT GET_LOCK('{lock}', 0)"));
    match taken.and_then(|_| observer.query_value(&format!("SELECT IS_USED_LOCK('{lock}')"))) {
        Ok(holder) => Ok(holder.is_some()),
        Err(TargetError::Statement { .. }) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(name: &str, pages: u64, in_order: f64) -> IndexPages {
        let in_order = Some(in_order);
        IndexPages { index: name.to_owned(), pages, in_order, leaves: pages - 1, records: 10_000 }
    }

    fn told(name: &str, plan: &str, statistics: &str, in_order: f64) -> Noted {
        Noted {
            name: name.to_owned(),
            plan: Some(plan.to_owned()),
            statistics: Some(statistics.to_owned()),
            pages: serde_json::to_string(&[index("item.PRIMARY", 400, in_order)]).ok(),
            ..Noted::default()
        }
    }

    #[test]
    fn targets_that_are_alike_are_told_so_with_how_far_their_statistics_differ() {
        let side = |name: &str, values: u32, in_order: f64| {
            let statistics = format!("item.PRIMARY size 400\nitem.PRIMARY n_diff_pfx01 {values}");
            told(name, "a: item ref i_subject", &statistics, in_order)
        };
        let found = compared(&side("t1", 1000, 0.99), &side("t2", 900, 0.98));
        let alike = |text: &str| Compared::Alike(text.to_owned());
        assert_eq!(
            found.plans,
            alike("the plan is the same, statistics of 1 indexes differ by 10.0 % at most")
        );
        assert_eq!(found.pages, alike("pages of both lie alike"));
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
    fn an_index_that_one_side_alone_has_is_told_whichever_side_that_is() {
        let one = told("t1", "a", "", 0.99);
        let both = [index("item.PRIMARY", 400, 0.99), index("item.by_subject", 400, 0.99)];
        let more = Noted { name: "t2".to_owned(), pages: serde_json::to_string(&both).ok(), ..one.clone() };
        for (slow, fast) in [(&one, &more), (&more, &one)] {
            assert_eq!(
                compared(slow, fast).pages,
                Compared::Different("t1 has no index item.by_subject".to_owned())
            );
        }
    }

    #[test]
    fn a_small_index_in_another_order_is_no_other_layout() {
        let small = |in_order: f64| Noted {
            pages: serde_json::to_string(&[index("author.a_lname", 20, in_order)]).ok(),
            ..told("t1", "a", "", 0.99)
        };
        assert!(matches!(compared(&small(0.0), &small(0.9)).pages, Compared::Alike(_)));
    }

    #[test]
    fn pools_of_other_sizes_are_seen_where_both_are_known() {
        let of = |room: Option<&str>| Noted { room: room.map(str::to_owned), ..told("t1", "a", "", 0.99) };
        assert!(compared(&of(Some("4000")), &of(Some("8000"))).pools_differ);
        assert!(!compared(&of(Some("4000")), &of(Some("4010"))).pools_differ);
        assert!(!compared(&of(None), &of(Some("8000"))).pools_differ);
    }

    #[test]
    fn what_nobody_could_read_is_unknown_and_not_alike() {
        let found = compared(&Noted::default(), &told("t2", "a", "", 0.99));
        assert!(matches!(found.plans, Compared::Unknown(_)) && matches!(found.pages, Compared::Unknown(_)));
    }

    #[test]
    fn one_server_under_two_names_is_no_pair_and_clones_in_like_places_are() {
        let at = |port: &str| {
            let place = [("hostname", "db"), ("port", port), ("datadir", "/data/"), ("socket", "/run/s")];
            let variables = place.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
            ServerRecord { variables, ..ServerRecord::default() }
        };
        let (one, other, unknown) = (at("3306"), at("3307"), ServerRecord::default());
        let pair = |one, other, found: bool| {
            each_once(&[("t1".to_owned(), one), ("t2".to_owned(), other)], &|_, _| Ok(found))
        };
        let text = pair(&one, &one, true).unwrap_err().to_string();
        assert!(text.contains("t1 and t2 are one server"), "{text}");
        pair(&one, &one, false).unwrap();
        pair(&one, &other, true).unwrap();
        pair(&unknown, &unknown, true).unwrap();
    }
}
