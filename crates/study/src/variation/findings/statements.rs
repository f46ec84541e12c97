//! Findings about the simple read, the write, and the statements of a class.

use crate::format;
use crate::harness::{Cell, Finding, Number};
use crate::variation::figures::{KEPT_UP, LOST, RATE, REFUSED, TAU, THETA};
use crate::variation::parts::{
    CLASS, CLASSES, LOAD, RATE as RATE_LEVEL, SIMPLE, SIMPLE_PUBLISHED, STATEMENT, TARGET, WRITE,
    WRITE_PUBLISHED,
};
use crate::variation::record::Setting;
use crate::variation::seen::{self, on_targets};
use evenkeel_core::statistics::{Estimate, standard_error_bound};
use evenkeel_core::trust::{CONFIDENCE, Point, Reason, Tolerance, TrustLimit};
use std::collections::BTreeMap;

/// How far means of response times lie apart.
struct Apart {
    /// Of the means themselves, and the least of them, ms.
    found: f64,
    least: f64,
    /// By what their intervals allow at least and at most.
    at_least: Option<f64>,
    at_most: Option<f64>,
}

impl Apart {
    fn of(means: &[Estimate]) -> Option<Self> {
        let least = |of: fn(&Estimate) -> Option<f64>| means.iter().filter_map(of).reduce(f64::min);
        let most = |of: fn(&Estimate) -> Option<f64>| means.iter().filter_map(of).reduce(f64::max);
        let apart = |high: Option<f64>, low: Option<f64>| high.zip(low).map(|(high, low)| high - low);
        let mean = |estimate: &Estimate| Some(estimate.mean);
        (means.len() > 1).then_some(())?;
        Some(Self {
            found: apart(most(mean), least(mean))?,
            least: least(mean)?,
            at_least: apart(most(Estimate::low), least(Estimate::high)),
            at_most: apart(most(Estimate::high), least(Estimate::low)),
        })
    }

    fn words(&self) -> String {
        let [found, least] = [self.found, self.least].map(|ms| format::significant(ms, 3));
        format!("{found} ms apart, where the fastest is {least} ms")
    }
}

/// Figure 13: the simple read, judged at the published rates.
pub(super) fn simple(setting: &Setting, cells: &[Cell<'_>]) -> Finding {
    let published = "the simple read differs by less than 1 ms between 20 and 120/s, until connections are refused (Figure 13)";
    let name = "simple-reads-are-alike";
    let today = simple_today(setting, cells).map_or_else(String::new, |today| format!(" {today}"));
    let own = cells.iter().filter(|cell| cell.part.name == SIMPLE_PUBLISHED);
    let mut groups: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    for cell in own {
        // Of servers over all rates, and of rates over all servers.
        for factor in [TARGET, RATE_LEVEL] {
            groups.entry((factor, cell.level(factor))).or_default().extend(cell.values(TAU));
        }
    }
    let means: Vec<Estimate> = groups.values().filter_map(|values| Estimate::of(values)).collect();
    let rates = groups.keys().filter(|(factor, _)| *factor == RATE_LEVEL).count();
    let Some(apart) = Apart::of(&means).filter(|_| rates > 1) else {
        let why = format!("It was not measured at these rates.{today}");
        return untested(name, SIMPLE_PUBLISHED, published, &why);
    };
    let holds = match (apart.at_most, apart.at_least) {
        (Some(at_most), _) if at_most < 1.0 => Some(true),
        (_, Some(at_least)) if at_least > 1.0 => Some(false),
        _ => None,
    };
    let here = format!("Here means of servers and of these rates lie {}.{today}", apart.words());
    let interval = apart.at_least.map(|low| low.max(0.0)).zip(apart.at_most);
    let number = Number { name: "means_apart_ms".to_owned(), value: apart.found, interval };
    Finding::of(name, SIMPLE_PUBLISHED, published, holds, here).with(vec![number])
}

/// How it is at shares of what a server of today carries.
fn simple_today(setting: &Setting, cells: &[Cell<'_>]) -> Option<String> {
    let own: Vec<&Cell<'_>> = cells.iter().filter(|cell| cell.part.name == SIMPLE).collect();
    // Response times say how servers differ up to the rate at which they refuse, or their queues grow.
    let carried = |cell: &&&Cell<'_>| cell.values(KEPT_UP).iter().all(|kept| *kept > 0.0) && !is_losing(cell);
    let means: Vec<Estimate> = own.iter().filter(carried).filter_map(|cell| cell.estimate(TAU)).collect();
    let apart = Apart::of(&means)?;
    let limit = limit_of(setting, cells, SIMPLE).1;
    Some(format!("At rates of today means lie {}; {limit}. {}", apart.words(), losses(&own)))
}

/// Whether requests were refused or given up.
fn is_losing(cell: &Cell<'_>) -> bool {
    cell.mean(LOST).is_some_and(|percent| percent > 0.0)
}

/// From which rate on requests are lost, and how.
fn losses(cells: &[&Cell<'_>]) -> String {
    let rate = |cell: &&Cell<'_>| cell.mean(RATE).unwrap_or_default();
    let of_rate = |cell: &&Cell<'_>| format::significant(rate(cell), 3);
    let by = |one: &&Cell<'_>, other: &&Cell<'_>| rate(one).total_cmp(&rate(other));
    let losing = cells.iter().copied().filter(|cell| is_losing(cell)).min_by(by);
    match (losing, cells.iter().copied().max_by(by)) {
        (Some(first), _) => format!(
            "At {} requests per second {} % of them are lost: {} % were refused a connection, the others waited too long.",
            of_rate(&first),
            format::significant(first.mean(LOST).unwrap_or_default(), 2),
            format::significant(first.mean(REFUSED).unwrap_or_default(), 2)
        ),
        (None, Some(highest)) => format!("None was lost up to {} requests per second.", of_rate(&highest)),
        (None, None) => String::new(),
    }
}

/// Figure 14: the write, judged at the published rates.
pub(super) fn write(setting: &Setting, cells: &[Cell<'_>]) -> Finding {
    let published = "variation of the write is negligible up to 80/s (Figure 14)";
    let name = "writes-vary-little";
    let has_runs = |part: &str| cells.iter().any(|cell| cell.part.name == part && !cell.runs.is_empty());
    let today = match has_runs(WRITE) {
        true => format!(" At rates of today: {}.", limit_of(setting, cells, WRITE).1),
        false => String::new(),
    };
    if !has_runs(WRITE_PUBLISHED) {
        let why = format!("It was not measured at these rates.{today}");
        return untested(name, WRITE_PUBLISHED, published, &why);
    }
    let (points, limit) = limit_of(setting, cells, WRITE_PUBLISHED);
    let own = cells.iter().filter(|cell| cell.part.name == WRITE_PUBLISHED);
    let theta = own.filter_map(|cell| cell.mean(THETA)).reduce(f64::max);
    let numbers = theta.map(|theta| Number::plain("theta_max_percent", theta)).into_iter().collect();
    let holds = breaks(&points, &limit).map(|breaks| !breaks);
    Finding::of(name, WRITE_PUBLISHED, published, holds, format!("Here: {limit}.{today}")).with(numbers)
}

fn limit_of(setting: &Setting, cells: &[Cell<'_>], part: &str) -> (Vec<Point>, TrustLimit) {
    limit_over(setting, &cells.iter().filter(|cell| cell.part.name == part).collect::<Vec<_>>())
}

/// The same of cells that differ in target and load, or rate, alone.
pub(super) fn limit_over(setting: &Setting, own: &[&Cell<'_>]) -> (Vec<Point>, TrustLimit) {
    let load_of = |cell: &Cell<'_>| [LOAD, RATE_LEVEL].map(|factor| cell.level(factor)).concat();
    let mut loads: Vec<String> = own.iter().map(|cell| load_of(cell)).collect();
    loads.sort_unstable();
    loads.dedup();
    let point = |load: String| {
        let at: Vec<&Cell<'_>> = own.iter().copied().filter(|cell| load_of(cell) == load).collect();
        let rate = at.iter().find_map(|cell| cell.mean(RATE))?;
        seen::point(setting, &seen::valid(on_targets(setting, &at)), rate)
    };
    let points: Vec<Point> = loads.into_iter().filter_map(point).collect();
    let limit = TrustLimit::of(&points, Tolerance::default());
    (points, limit)
}

/// One that cannot be told here, and why.
pub(super) fn untested(name: &'static str, part: &str, published: &str, why: &str) -> Finding {
    Finding::of(name, part, published, None, why.to_owned())
}

/// Whether all hold: no where one does not, and not known where one of the others is not.
pub(super) fn all(each: &[Option<bool>]) -> Option<bool> {
    match () {
        () if each.contains(&Some(false)) => Some(false),
        () if each.contains(&None) => None,
        () => Some(true),
    }
}

/// Whether runs or servers differ by more than is trusted; `None` where it takes more runs to tell, since of a few the standard error may be
/// too large and need not be, and where a rate is not trusted for what is no difference: a queue that grows, requests that are lost.
pub(super) fn breaks(points: &[Point], limit: &TrustLimit) -> Option<bool> {
    let Some(end) = &limit.end else { return (!points.is_empty()).then_some(false) };
    // What the standard error is at least, with the confidence that trust asks of what it is at most.
    let at_least = |point: &Point| {
        let error = standard_error_bound(point.tau.standard_error()?, point.tau_degrees, 1.0 - CONFIDENCE);
        Some(100.0 * error / point.tau.mean)
    };
    let known = points.iter().find(|point| point.rate == end.rate).and_then(at_least);
    match end.reason {
        Reason::Spread { .. } => Some(true),
        Reason::StandardError { tolerance, .. } => known.filter(|percent| *percent > tolerance).map(|_| true),
        _ => None,
    }
}

const ALIKE: &str = "statements-of-a-class-alike";
const ALIKE_PUBLISHED: &str = "all statements of a class behave alike";

/// A statement, and whether its runs and servers differ by more than is trusted.
type Behaves = (&'static str, Option<bool>);

/// Of each class: simple reads, complex reads.
pub(super) fn alike(setting: &Setting, cells: &[Cell<'_>]) -> Finding {
    let own: Vec<&Cell<'_>> =
        cells.iter().filter(|cell| cell.part.name == CLASS && !cell.values(TAU).is_empty()).collect();
    if own.is_empty() {
        return untested(ALIKE, CLASS, ALIKE_PUBLISHED, "It was not measured; this needs private servers.");
    }
    let classes: Vec<(&str, Vec<Behaves>)> = CLASSES
        .iter()
        .map(|(class, of)| (*class, of.iter().map(|name| behaves(setting, &own, name)).collect()))
        .collect();
    let each: Vec<Option<bool>> = classes.iter().map(|(_, of)| are_alike(of)).collect();
    let here = classes.iter().map(|(class, of)| behaviour(class, of)).collect::<Vec<_>>().join(" ");
    Finding::of(ALIKE, CLASS, ALIKE_PUBLISHED, all(&each), here).with(spreads(&own))
}

fn behaves(setting: &Setting, cells: &[&Cell<'_>], name: &'static str) -> Behaves {
    let own: Vec<&Cell<'_>> = cells.iter().copied().filter(|cell| cell.level(STATEMENT) == name).collect();
    let (points, limit) = limit_over(setting, &own);
    (name, breaks(&points, &limit))
}

/// `None` where one of them cannot be told, and none of the others says no.
fn are_alike(of: &[Behaves]) -> Option<bool> {
    let has = |wanted: Option<bool>| of.iter().any(|(_, behaves)| *behaves == wanted);
    match (has(Some(true)), has(Some(false)), has(None)) {
        (true, true, _) => Some(false),
        (_, _, true) => None,
        _ => Some(true),
    }
}

fn behaviour(class: &str, of: &[Behaves]) -> String {
    let said = |wanted: Option<bool>, words: &str| {
        let names: Vec<&str> =
            of.iter().filter(|(_, behaves)| *behaves == wanted).map(|(name, _)| *name).collect();
        (!names.is_empty()).then(|| format!("{} {words}", names.join(", ")))
    };
    let all = [
        said(Some(false), "can be trusted"),
        said(Some(true), "cannot be trusted"),
        said(None, "cannot be decided by so few runs"),
    ];
    format!("Of {class} reads {}.", all.into_iter().flatten().collect::<Vec<_>>().join("; "))
}

/// Standard deviation of the runs of each statement at each load, percent of their mean.
fn spreads(cells: &[&Cell<'_>]) -> Vec<Number> {
    let mut all: Vec<(String, Vec<f64>)> = Vec::new();
    for cell in cells {
        let name = format!("spread_percent_of_{}_at_{}", cell.level(STATEMENT), cell.level(LOAD));
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.extend(cell.values(TAU)),
            None => all.push((name, cell.values(TAU))),
        }
    }
    all.into_iter().filter_map(|(name, values)| Some(Number::plain(&name, spread(&values)?))).collect()
}

fn spread(values: &[f64]) -> Option<f64> {
    let estimate = Estimate::of(values)?;
    let deviation = estimate.standard_error()? * (values.len() as f64).sqrt();
    Some(100.0 * deviation / estimate.mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_alike_where_all_of_it_is_told_and_agrees() {
        let of = |all: [Option<bool>; 3]| are_alike(&all.map(|behaves| ("tpcw.simple", behaves)));
        assert_eq!(of([Some(true); 3]), Some(true));
        assert_eq!(of([Some(false); 3]), Some(true));
        assert_eq!(of([Some(true), Some(false), None]), Some(false));
        assert_eq!(of([Some(true), Some(true), None]), None);
    }
}
