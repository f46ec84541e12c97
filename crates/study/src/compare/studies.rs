//! One study against another, or levels of one.

use super::found::{Carried, Condition, Found, Parted, Relation, Settling, Statement, relation};
use super::judged::CompareError;
use super::side::{Criterion, Side};
use crate::format::listed;
use crate::store::format::{BoundsRecord, CellSummary, SeriesRecord};
use evenkeel_core::experiment::{self, Comparison, Margin, Pair};
use std::collections::BTreeMap;
use std::ptr;

/// Rates that differ by at most this share are nearly the same.
const NEAR: f64 = 0.1;
/// The same of a plan that was read back, which may differ in the last bit.
const SAME: f64 = 1e-12;

/// Overload of each series that both have. A series that was overloaded in one study only has no such figure in the other; it tells
/// all the same where the other carried a rate that it did not.
pub(super) fn in_overload(first: &Side, second: &Side) -> Result<Found, CompareError> {
    let mut found = Found::default();
    for (label, one, other) in series(first, second, &mut found.left_out)? {
        let pair = Pair { first: first.overload(one), second: second.overload(other) };
        let lacking =
            [(first, &pair.first), (second, &pair.second)].into_iter().find(|(_, runs)| runs.is_empty());
        let Some((side, _)) = lacking else {
            found.conditions.push(Condition { label, rate_per_s: None, pair, by_itself: None });
            continue;
        };
        let before = found.parted.len();
        for (own, its) in cells((first, one), (second, other), SAME) {
            let cells = [
                Settling::of(first, own, Criterion::Throughput),
                Settling::of(second, its, Criterion::Throughput),
            ];
            if let Relation::Parted(side, runs) = relation(&cells[0], &cells[1]) {
                found.parted.push(Parted { label: label.clone(), rate_per_s: own.rate_per_s, side, runs });
            }
        }
        if found.parted.len() == before {
            let carried = carried((first, one), (second, other), &label);
            let none = || CompareError::NoOverload { study: side.name().to_owned() };
            found.carried.push(carried.ok_or_else(none)?);
        }
    }
    Ok(found)
}

/// The one whose bounds begin above the end of the other's.
fn carried((first, one): (&Side, usize), (second, other): (&Side, usize), label: &str) -> Option<Carried> {
    let (first, second) = (first.bounds(one)?, second.bounds(other)?);
    let apart = |low: &BoundsRecord, high: &BoundsRecord| {
        low.at_most_per_s.zip(high.at_least_per_s).filter(|(at_most, at_least)| at_most < at_least)
    };
    let better = apart(first, second).map(|found| (experiment::Side::Better, found));
    let (side, (at_most, at_least)) =
        better.or_else(|| apart(second, first).map(|found| (experiment::Side::Worse, found)))?;
    Some(Carried { label: label.to_owned(), side, at_most, at_least })
}

/// CPU time for a request at rates that are nearly the same. At others it cannot be compared: it falls with the rate, since what a
/// server does by itself is divided by more requests.
pub(super) fn cpu(first: &Side, second: &Side) -> Result<Found, CompareError> {
    let mut found = Found::default();
    let all = common(first, second, NEAR, &mut found.left_out)?;
    let common = all.len();
    for (label, own, its) in all {
        let pair =
            Pair { first: first.figures(own, Criterion::Cpu), second: second.figures(its, Criterion::Cpu) };
        if pair.first.is_empty() || pair.second.is_empty() {
            found.left_out.push(format!("{} requests/s: on one side nobody saw the CPUs", own.rate_per_s));
        } else {
            found.add(&label, own.rate_per_s, Relation::Alike, || pair);
        }
    }
    found.leave_out_single_runs();
    match found.conditions.len() {
        0 if common == 0 => Err(no_common_rate(first, second, 0, found.left_out)),
        0 => Err(CompareError::NoFigure { figure: Criterion::Cpu.words() }),
        _ => Ok(found),
    }
}

/// Each statement by itself, at the rates that both carried.
pub(super) fn statements(first: &Side, second: &Side, figure: Criterion, margin: Margin) -> Vec<Statement> {
    let alike = |(_, own, its): &(String, &CellSummary, &CellSummary)| {
        let settling =
            (Settling::of(first, own, Criterion::Response), Settling::of(second, its, Criterion::Response));
        matches!(relation(&settling.0, &settling.1), Relation::Alike)
    };
    let mut cells = common(first, second, SAME, &mut Vec::new()).unwrap_or_default();
    cells.retain(alike);
    let pairs = |name: &str| -> Vec<Pair> {
        let pair = |(_, own, its): &(String, &CellSummary, &CellSummary)| Pair {
            first: first.of_statement(own, name, figure),
            second: second.of_statement(its, name, figure),
        };
        cells.iter().map(pair).filter(|pair| pair.first.len().min(pair.second.len()) > 1).collect()
    };
    let found: Vec<(&str, Vec<Pair>)> =
        first.statements().into_iter().map(|name| (name, pairs(name))).collect();
    let questions = found.iter().filter(|(_, pairs)| !pairs.is_empty()).count();
    let statement = |(name, pairs): (&str, Vec<Pair>)| {
        let comparison = Comparison::one_of(questions, &pairs, margin, Criterion::Response.better())?;
        let mean = |side: fn(&Pair) -> &Vec<f64>| {
            let all: Vec<f64> = pairs.iter().flat_map(side).copied().collect();
            all.iter().sum::<f64>() / all.len() as f64
        };
        let means_ms = (mean(|pair| &pair.first), mean(|pair| &pair.second));
        Some(Statement { name: name.to_owned(), comparison, means_ms })
    };
    // Of a single one the whole says it.
    if questions > 1 { found.into_iter().filter_map(statement).collect() } else { Vec::new() }
}

/// Response times at the rates that both have.
pub(super) fn at_common_rates(first: &Side, second: &Side, figure: Criterion) -> Result<Found, CompareError> {
    let mut found = Found::default();
    let all = common(first, second, SAME, &mut found.left_out)?;
    let common = all.len();
    for (label, own, its) in all {
        let relation = relation(&Settling::of(first, own, figure), &Settling::of(second, its, figure));
        let pair = || Pair { first: first.figures(own, figure), second: second.figures(its, figure) };
        found.add(&label, own.rate_per_s, relation, pair);
    }
    found.leave_out_single_runs();
    if found.conditions.is_empty() && found.parted.is_empty() && found.leaning.is_empty() {
        return Err(no_common_rate(first, second, common, found.left_out));
    }
    Ok(found)
}

fn no_common_rate(first: &Side, second: &Side, common: usize, left_out: Vec<String>) -> CompareError {
    let (levels, rates) = (first.name() == second.name(), first.settled_rates());
    CompareError::NoCommonRate { common, levels, rates, left_out }
}

/// Cells of both at rates that differ by this share at most, with the label of their series. Where there are some, the rates of one side
/// alone are left out by name.
fn common<'a>(
    first: &'a Side,
    second: &'a Side,
    by: f64,
    left_out: &mut Vec<String>,
) -> Result<Vec<(String, &'a CellSummary, &'a CellSummary)>, CompareError> {
    let (mut all, mut alone) = (Vec::new(), Vec::new());
    for (label, one, other) in series(first, second, left_out)? {
        let pairs: Vec<_> = cells((first, one), (second, other), by).collect();
        alone.extend(lone(&pairs, first.cells_of(one), "first"));
        alone.extend(lone(&pairs, second.cells_of(other), "second"));
        all.extend(pairs.into_iter().map(|(own, its)| (label.clone(), own, its)));
    }
    left_out.extend(alone.into_iter().filter(|_| !all.is_empty()));
    Ok(all)
}

/// The rates without a partner, in words.
fn lone<'a>(
    pairs: &[(&CellSummary, &CellSummary)],
    own: impl Iterator<Item = &'a CellSummary>,
    which: &str,
) -> Option<String> {
    let is_one = |cell: &CellSummary| pairs.iter().any(|pair| ptr::eq(pair.0, cell) || ptr::eq(pair.1, cell));
    let rates: Vec<String> =
        own.filter(|cell| !is_one(cell)).map(|cell| cell.rate_per_s.to_string()).collect();
    (!rates.is_empty()).then(|| format!("{} requests/s: measured in the {which} alone", listed(&rates)))
}

/// Cells of a series of each study at such rates, each with the nearest of the other study and none twice.
fn cells<'a>(
    (first, one): (&'a Side, usize),
    (second, other): (&'a Side, usize),
    by: f64,
) -> impl Iterator<Item = (&'a CellSummary, &'a CellSummary)> {
    first.cells_of(one).filter_map(move |own| {
        let its = nearest(second, other, own.rate_per_s)?;
        let back = nearest(first, one, its.rate_per_s)?;
        let apart = (own.rate_per_s - its.rate_per_s).abs();
        (back.cell == own.cell && apart <= by * own.rate_per_s.max(its.rate_per_s)).then_some((own, its))
    })
}

fn nearest(side: &Side, series: usize, rate: f64) -> Option<&CellSummary> {
    let apart = |cell: &CellSummary| (cell.rate_per_s - rate).abs();
    side.cells_of(series).min_by(|one, other| apart(one).total_cmp(&apart(other)))
}

/// The series of both: of whole studies those with the same label, whatever their order; where no label is in both, as between two
/// levels of a factor, those at the same place. With a label where there are several. What has no partner is left out by its name.
fn series(
    first: &Side,
    second: &Side,
    left_out: &mut Vec<String>,
) -> Result<Vec<(String, usize, usize)>, CompareError> {
    let by_label = by_label(first, second);
    if by_label.is_empty() || first.series().len() == 1 && second.series().len() == 1 {
        return by_place(first, second);
    }
    let alone = |side: &Side, paired: fn(&(usize, usize)) -> usize, which: &str| {
        let partnered: Vec<usize> = by_label.iter().map(paired).collect();
        let strangers = side.series().iter().filter(|series| !partnered.contains(series));
        strangers.map(|series| format!("{}: of the {which} alone", side.label(*series))).collect::<Vec<_>>()
    };
    left_out.extend(alone(first, |pair| pair.0, "first"));
    left_out.extend(alone(second, |pair| pair.1, "second"));
    Ok(by_label.into_iter().map(|(one, other)| (first.label(one).to_owned(), one, other)).collect())
}

fn by_label(first: &Side, second: &Side) -> Vec<(usize, usize)> {
    let mut free = second.series().to_vec();
    let mut partner = |label: &str| {
        let at = free.iter().position(|other| second.label(*other) == label)?;
        Some(free.remove(at))
    };
    first.series().iter().filter_map(|one| Some((*one, partner(first.label(*one))?))).collect()
}

fn by_place(first: &Side, second: &Side) -> Result<Vec<(String, usize, usize)>, CompareError> {
    let (ones, others) = (first.series(), second.series());
    if ones.len() != others.len() {
        return Err(CompareError::Series { first: ones.len(), second: others.len() });
    }
    let is_one_study = first.name() == second.name();
    let label = |one: usize, other: usize| match ones.len() {
        1 => String::new(),
        // Levels of a factor, which are named above.
        _ if is_one_study => first.label(one).to_owned(),
        _ => format!("{} against {}", second.label(other), first.label(one)),
    };
    Ok(ones.iter().zip(others).map(|(one, other)| (label(*one, *other), *one, *other)).collect())
}

/// Shares of the CPUs that neighbours take are alike up to so many percentage points.
const TAKEN_ALIKE: f64 = 5.0;
/// ... and farther apart than this they account for much of what is found.
const TAKEN_APART: f64 = 20.0;
/// Numbers of connections nearer than this, as a logarithm of their ratio, are alike: those that are free vary.
const SESSIONS_ALIKE: f64 = 0.2;

/// What differs between two studies beside the server, in words. Levels of one study may differ in just that.
pub fn unlike(first: &Side, second: &Side) -> Vec<String> {
    let (one, other) = (first.name(), second.name());
    if one == other {
        return Vec::new();
    }
    let [ran, then_ran] = [first, second].map(|side| listed(&Vec::from_iter(side.workloads())));
    let is_other_file = ran == then_ran && first.plan().file_crc32 != second.plan().file_crc32;
    let file = is_other_file.then(|| "the workload file has other statements".to_owned());
    let workload = (ran != then_ran).then(|| format!("{one} ran {ran}, {other} ran {then_ran}"));
    let taken = first.taken_percent().zip(second.taken_percent());
    let taken = taken.filter(|(taken, then)| (taken - then).abs() > TAKEN_ALIKE).map(|(taken, then)| {
        let much = if (taken - then).abs() > TAKEN_APART {
            "; part of the difference is theirs: measure again at equal load"
        } else {
            ""
        };
        format!("other load took {taken:.0} % of the CPUs in {one}, {then:.0} % in {other}{much}")
    });
    let [sessions, then] = [first, second].map(|side| side.plan().settings.sessions.replace("pooled:", ""));
    let number = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
    let is_far = (number(&sessions) / number(&then)).ln().abs() > SESSIONS_ALIKE;
    let sessions = is_far.then(|| format!("{sessions} connections, then {then}"));
    [file, workload, taken, sessions].into_iter().flatten().collect()
}

/// A level of a factor against the factor's first one, with the series of both under the same levels of all other factors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelPair {
    pub factor: String,
    /// Its first level, which the other one is compared with.
    pub first: String,
    pub second: String,
    /// Series with the first, and with the second in the same order.
    pub series: (Vec<usize>, Vec<usize>),
}

/// Every level but the first of every factor, in the order of the series of a plan.
pub fn level_pairs(all: &[SeriesRecord]) -> Vec<LevelPair> {
    let factors: Vec<&String> = all.first().iter().flat_map(|series| series.levels.keys()).collect();
    factors.into_iter().flat_map(|factor| pairs_of(all, factor)).collect()
}

fn pairs_of(all: &[SeriesRecord], factor: &str) -> Vec<LevelPair> {
    let mut levels: Vec<&String> = Vec::new();
    for level in all.iter().filter_map(|series| series.levels.get(factor)) {
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    let Some((first, others)) = levels.split_first() else { return Vec::new() };
    let pair = |second: &&String| LevelPair {
        factor: factor.to_owned(),
        first: (*first).clone(),
        second: (*second).clone(),
        series: matched(all, factor, first, second),
    };
    others.iter().map(pair).collect()
}

fn matched(all: &[SeriesRecord], factor: &str, first: &str, second: &str) -> (Vec<usize>, Vec<usize>) {
    let with = |level: &str| {
        let has = move |series: &(usize, &BTreeMap<String, String>)| {
            series.1.get(factor).is_some_and(|own| own == level)
        };
        all.iter().map(|series| &series.levels).enumerate().filter(has).collect::<Vec<_>>()
    };
    let others = |levels: &BTreeMap<String, String>| {
        let mut others = levels.clone();
        others.remove(factor);
        others
    };
    let seconds = with(second);
    let both = with(first).into_iter().filter_map(|(at, levels)| {
        let twin = seconds.iter().find(|(_, own)| others(own) == others(levels))?;
        Some((at, twin.0))
    });
    both.unzip()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(levels: &[(&str, &str)]) -> SeriesRecord {
        let levels = levels.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned())).collect();
        SeriesRecord { levels, ..crate::compare::tests::plan("p").series.remove(0) }
    }

    #[test]
    fn a_level_is_held_against_the_first_where_all_else_is_the_same() {
        let all = [["no", "1"], ["no", "2"], ["yes", "1"], ["yes", "2"]];
        let plan: Vec<SeriesRecord> =
            all.iter().map(|[index, flush]| series(&[("index", index), ("flush", flush)])).collect();
        let found = level_pairs(&plan);
        let of = |factor: &str| found.iter().find(|pair| pair.factor == factor).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!((of("index").second.as_str(), &of("index").series), ("yes", &(vec![0, 1], vec![2, 3])));
        assert_eq!(of("flush").series, (vec![0, 2], vec![1, 3]));
        assert_eq!(level_pairs(&[series(&[])]), []);
    }
}
