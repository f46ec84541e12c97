//! Findings about what is read from disk: the buffer pool and the storage layout.

use super::made::{breaks, finding, untested};
use super::statements::limit_over;
use crate::format;
use crate::harness::{Cell, Finding, Number, above};
use crate::variation::figures::{KEPT_UP, READS, TAU};
use crate::variation::parts::{LAYOUT, LOAD, POOL, TARGET};
use crate::variation::record::{Setting, TargetRecord};
use crate::variation::seen::is_valid;
use evenkeel_core::statistics::{Estimate, Ratio, Sample, deviations_ratio, unpaired_ratio};
use std::collections::BTreeMap;

/// A figure of a part at one level of each of some factors: means of starts, whose runs are not independent, without runs whose queue grew.
fn means(
    setting: &Setting,
    cells: &[Cell<'_>],
    part: &str,
    levels: &[(&str, &str)],
    figure: &str,
) -> Vec<f64> {
    let is_it = |cell: &&Cell<'_>| {
        cell.part.name == part && levels.iter().all(|(factor, level)| cell.level(factor) == *level)
    };
    let of_cell = |cell: &Cell<'_>| -> Vec<f64> {
        let mut starts: BTreeMap<u32, Sample> = BTreeMap::new();
        for run in cell.runs.iter().filter(|run| run.figure(KEPT_UP) != Some(0.0) && is_valid(run)) {
            if let Some(value) = run.figure(figure) {
                starts.entry(setting.start_and_run(run.repeat).0).or_default().push(value);
            }
        }
        starts.values().filter_map(Sample::mean).collect()
    };
    cells.iter().filter(is_it).flat_map(of_cell).collect()
}

/// Smallest and largest level of a numeric factor of a part that was measured.
fn ends(cells: &[Cell<'_>], part: &str, factor: &str) -> Option<(String, String)> {
    let own = || cells.iter().filter(|cell| cell.part.name == part);
    let by = |one: &&Cell<'_>, other: &&Cell<'_>| {
        one.number(factor).unwrap_or_default().total_cmp(&other.number(factor).unwrap_or_default())
    };
    let (low, high) = (own().min_by(by)?.level(factor), own().max_by(by)?.level(factor));
    (low != high).then(|| (low.to_owned(), high.to_owned()))
}

fn pool_ratio(setting: &Setting, cells: &[Cell<'_>], load: &str) -> Option<Ratio> {
    let (small, large) = ends(cells, POOL, "pool-percent")?;
    let of = |pool: &str| means(setting, cells, POOL, &[("pool-percent", pool), (LOAD, load)], TAU);
    unpaired_ratio(&of(&small), &of(&large))
}

/// What starts of a server differ by at the smallest pool, over what they differ by at the largest.
fn pool_deviations(setting: &Setting, cells: &[Cell<'_>], load: &str) -> Option<Ratio> {
    let (small, large) = ends(cells, POOL, "pool-percent")?;
    let of = |pool: &str| -> Vec<Vec<f64>> {
        let of_target = |target: &TargetRecord| {
            let at = [("pool-percent", pool), (LOAD, load), (TARGET, &*target.name)];
            let at = if setting.duet { &at[..2] } else { &at[..] };
            means(setting, cells, POOL, at, TAU)
        };
        setting.targets.iter().map(of_target).collect()
    };
    deviations_ratio(&of(&small), &of(&large))
}

/// Both, one of them not, or not known.
fn both(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// Figure 9: disk I/O is the cause.
pub(super) fn pool(setting: &Setting, cells: &[Cell<'_>]) -> Finding {
    let published = "response times and their variation fall as the buffer pool grows from 20 to 100 % of the tables (Figure 9)";
    let Some((small, large)) = ends(cells, POOL, "pool-percent") else {
        return untested(
            "a-larger-pool-takes-it-away",
            POOL,
            published,
            "It was not measured; this needs private servers, whose buffer pool is ours to set.",
        );
    };
    let load = ends(cells, POOL, LOAD)
        .map(|(_, high)| high)
        .or_else(|| cells.iter().find(|cell| cell.part.name == POOL).map(|cell| cell.level(LOAD).to_owned()));
    let ratio = load.as_ref().and_then(|load| pool_ratio(setting, cells, load));
    let varies = load.as_ref().and_then(|load| pool_deviations(setting, cells, load));
    let reads = |pool: &str| {
        Estimate::of(&means(setting, cells, POOL, &[("pool-percent", pool)], READS)).map(|reads| reads.mean)
    };
    let here = match (&ratio, reads(&small), reads(&large)) {
        (Some(ratio), Some(few), Some(many)) => format!(
            "Here the response time at {small} % is {} times that at {large} %, with {} and {} reads from \
             disk per request.",
            format::ratio(ratio),
            format::significant(few, 3),
            format::significant(many, 3)
        ),
        (Some(ratio), _, _) => {
            format!(
                "Here the response time at {small} % is {} times that at {large} %.",
                format::ratio(ratio)
            )
        }
        _ => "It was not measured.".to_owned(),
    };
    let here = match &varies {
        Some(varies) => format!("{here} Starts of servers differ {} times as much.", format::ratio(varies)),
        None => here,
    };
    let numbers = Number::of("small_over_large", ratio.as_ref())
        .into_iter()
        .chain(Number::of("deviations_small_over_large", varies.as_ref()))
        .collect();
    let holds = both(above(ratio.as_ref(), 1.0), above(varies.as_ref(), 1.0));
    finding("a-larger-pool-takes-it-away", POOL, published, holds, here, numbers)
}

/// Figure 10: what a pool saves is more at high rates.
pub(super) fn pool_at_high_rates(setting: &Setting, cells: &[Cell<'_>]) -> Finding {
    let published = "a small pool pays most at high rates (Figure 10)";
    let name = "a-pool-pays-at-high-rates";
    let Some((low, high)) = ends(cells, POOL, LOAD) else {
        return untested(name, POOL, published, "This needs two rates at several sizes of the pool.");
    };
    let (low, high) = (pool_ratio(setting, cells, &low), pool_ratio(setting, cells, &high));
    let holds = low.as_ref().zip(high.as_ref()).and_then(|(low, high)| {
        let ((_, low_end), (high_end, _)) = (low.interval?, high.interval?);
        match () {
            () if high_end > low_end => Some(true),
            () if high.interval?.1 < low.interval?.0 => Some(false),
            () => None,
        }
    });
    let here = match (&low, &high) {
        (Some(low), Some(high)) => format!(
            "Here the smallest pool takes {} times as long as the largest at the low rate, and {} times at the high one.",
            format::ratio(low),
            format::ratio(high)
        ),
        _ => "It was not measured.".to_owned(),
    };
    let numbers = Number::of("at_low_rate", low.as_ref())
        .into_iter()
        .chain(Number::of("at_high_rate", high.as_ref()))
        .collect();
    finding(name, POOL, published, holds, here, numbers)
}

/// Figure 11: the layout is the root cause.
pub(super) fn dump(setting: &Setting, cells: &[Cell<'_>]) -> Finding {
    let published = "the same data reloaded from a dump answers faster and alike on all servers (Figure 11)";
    let load = ends(cells, LAYOUT, LOAD).map(|(_, high)| high);
    let load = load.or_else(|| {
        cells.iter().find(|cell| cell.part.name == LAYOUT).map(|cell| cell.level(LOAD).to_owned())
    });
    let of = |layout: &str| {
        let at = [("layout", layout), (LOAD, load.as_deref().unwrap_or_default())];
        means(setting, cells, LAYOUT, &at, TAU)
    };
    let ratio = unpaired_ratio(&of("script"), &of("dump"));
    let reads = |layout: &str| {
        let at = [("layout", layout), (LOAD, load.as_deref().unwrap_or_default())];
        Estimate::of(&means(setting, cells, LAYOUT, &at, READS)).map(|reads| reads.mean)
    };
    let here = match (&ratio, reads("script"), reads("dump")) {
        (Some(ratio), Some(script), Some(dump)) => format!(
            "Here the mean response time after the script is {} times that after the dump at the highest \
             rate, with {} and {} reads from disk per request.",
            format::ratio(ratio),
            format::significant(script, 3),
            format::significant(dump, 3)
        ),
        (Some(ratio), _, _) => {
            format!(
                "Here the mean response time after the script is {} times that after the dump.",
                format::ratio(ratio)
            )
        }
        _ => "It was not measured; this needs private servers.".to_owned(),
    };
    let limit = |layout: &str| {
        let own: Vec<&Cell<'_>> =
            cells.iter().filter(|cell| cell.part.name == LAYOUT && cell.level(LAYOUT) == layout).collect();
        limit_over(setting, &own)
    };
    let ((points, of_dump), (_, of_script)) = (limit("dump"), limit("script"));
    let here = match ratio {
        Some(_) => format!("{here} After the dump they are {of_dump}; after the script, {of_script}."),
        None => here,
    };
    let limits = [("trust_limit_percent_of_dump", &of_dump), ("trust_limit_percent_of_script", &of_script)];
    let limits = limits.into_iter().filter_map(|(name, limit)| Some(Number::plain(name, limit.utilisation?)));
    let numbers = Number::of("script_over_dump", ratio.as_ref()).into_iter().chain(limits).collect();
    // One server has no other one to be like.
    let has_several = setting.targets.len() > 1;
    let alike = breaks(&points, &of_dump).map(|breaks| !breaks).filter(|alike| has_several || !alike);
    finding("a-dump-takes-it-away", LAYOUT, published, both(above(ratio.as_ref(), 1.0), alike), here, numbers)
}
