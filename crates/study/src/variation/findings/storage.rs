//! Findings about what is read from disk: the buffer pool and the storage layout.

use super::statements::{all, breaks, limit_over, untested};
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

/// The highest load of a part that was measured.
fn highest_load(cells: &[Cell<'_>], part: &str) -> Option<String> {
    let only = || cells.iter().find(|cell| cell.part.name == part).map(|cell| cell.level(LOAD).to_owned());
    ends(cells, part, LOAD).map(|(_, high)| high).or_else(only)
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

/// How response times compare, and what is read from disk, where that is known.
fn compared(ratio: Option<&Ratio>, [slow, fast]: [&str; 2], reads: [Vec<f64>; 2]) -> String {
    let Some(ratio) = ratio else { return "It was not measured; this needs private servers.".to_owned() };
    let [many, few] = reads.map(|reads| Estimate::of(&reads).map(|reads| reads.mean));
    let reads = many.zip(few).map_or_else(String::new, |(many, few)| {
        let [many, few] = [many, few].map(|reads| format::significant(reads, 3));
        format!(", with {many} and {few} reads from disk per request")
    });
    format!("Here the response time {slow} is {} times that {fast}{reads}.", format::ratio(ratio))
}

/// Figure 9: disk I/O is the cause.
pub(super) fn pool(setting: &Setting, cells: &[Cell<'_>]) -> Finding {
    let published = "response times and their variation fall as the buffer pool grows from 20 to 100 % of the tables (Figure 9)";
    let name = "a-larger-pool-takes-it-away";
    let Some((small, large)) = ends(cells, POOL, "pool-percent") else {
        let why = "It was not measured; this needs private servers, whose buffer pool is ours to set.";
        return untested(name, POOL, published, why);
    };
    let load = highest_load(cells, POOL).unwrap_or_default();
    let ratio = pool_ratio(setting, cells, &load);
    let varies = pool_deviations(setting, cells, &load);
    let reads = [small.as_str(), large.as_str()]
        .map(|pool| means(setting, cells, POOL, &[("pool-percent", pool)], READS));
    let sides = [&small, &large].map(|pool| format!("at {pool} %"));
    let mut here = compared(ratio.as_ref(), sides.each_ref().map(String::as_str), reads);
    if let Some(varies) = &varies {
        here.push_str(&format!(" Starts of servers differ {} times as much.", format::ratio(varies)));
    }
    let (ratio, varies) = (ratio.as_ref(), varies.as_ref());
    let numbers = [Number::of("small_over_large", ratio), Number::of("deviations_small_over_large", varies)];
    let holds = all(&[above(ratio, 1.0), above(varies, 1.0)]);
    Finding::of(name, POOL, published, holds, here).with(numbers.concat())
}

/// Figure 10: what a pool saves is more at high rates.
pub(super) fn pool_at_high_rates(setting: &Setting, cells: &[Cell<'_>]) -> Finding {
    let published = "a small pool pays most at high rates (Figure 10)";
    let name = "a-pool-pays-at-high-rates";
    let Some((low, high)) = ends(cells, POOL, LOAD) else {
        return untested(name, POOL, published, "This needs two rates at several sizes of the pool.");
    };
    let (low, high) = (pool_ratio(setting, cells, &low), pool_ratio(setting, cells, &high));
    let intervals =
        low.as_ref().and_then(|low| low.interval).zip(high.as_ref().and_then(|high| high.interval));
    let holds = intervals.and_then(|(low, high)| match () {
        () if high.0 > low.1 => Some(true),
        () if high.1 < low.0 => Some(false),
        () => None,
    });
    let here = match (&low, &high) {
        (Some(low), Some(high)) => format!(
            "Here the smallest pool takes {} times as long as the largest at the low rate, and {} times at the high one.",
            format::ratio(low),
            format::ratio(high)
        ),
        _ => "It was not measured.".to_owned(),
    };
    let numbers = [Number::of("at_low_rate", low.as_ref()), Number::of("at_high_rate", high.as_ref())];
    Finding::of(name, POOL, published, holds, here).with(numbers.concat())
}

/// Figure 11: the layout is the root cause.
pub(super) fn dump(setting: &Setting, cells: &[Cell<'_>]) -> Finding {
    let published = "the same data reloaded from a dump answers faster and alike on all servers (Figure 11)";
    let load = highest_load(cells, LAYOUT).unwrap_or_default();
    let of = |layout: &str, figure: &str| {
        means(setting, cells, LAYOUT, &[("layout", layout), (LOAD, load.as_str())], figure)
    };
    let ratio = unpaired_ratio(&of("script", TAU), &of("dump", TAU));
    let sides = ["after the script", "after the dump at the highest rate"];
    let mut here = compared(ratio.as_ref(), sides, ["script", "dump"].map(|layout| of(layout, READS)));
    let limit = |layout: &str| {
        let own = cells.iter().filter(|cell| cell.part.name == LAYOUT && cell.level(LAYOUT) == layout);
        limit_over(setting, &own.collect::<Vec<_>>())
    };
    let ((points, of_dump), (_, of_script)) = (limit("dump"), limit("script"));
    if ratio.is_some() {
        here.push_str(&format!(" After the dump they are {of_dump}; after the script, {of_script}."));
    }
    let limits = [("trust_limit_percent_of_dump", &of_dump), ("trust_limit_percent_of_script", &of_script)];
    let limits = limits.into_iter().filter_map(|(name, limit)| Some(Number::plain(name, limit.utilisation?)));
    let numbers = Number::of("script_over_dump", ratio.as_ref()).into_iter().chain(limits).collect();
    // One server has no other one to be like.
    let has_several = setting.targets.len() > 1;
    let alike = breaks(&points, &of_dump).map(|breaks| !breaks).filter(|alike| has_several || !alike);
    let holds = all(&[above(ratio.as_ref(), 1.0), alike]);
    Finding::of("a-dump-takes-it-away", LAYOUT, published, holds, here).with(numbers)
}
