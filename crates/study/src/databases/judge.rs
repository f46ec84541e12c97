//! What the runs come to, beside the published table.

use super::record::Setting;
use super::{NAMES, PARDA, PUBLISHED_MOST, Published, THRESHOLD_S, UNCONTROLLED, most};
use crate::format;
use crate::harness::{Cell, Finding, Judgement, Number, Outcome, Part, Plan, Reference, Run, cells};
use crate::shares::{way, words};
use evenkeel_core::caveat::{Caveat, Severity};
use evenkeel_core::share::experiment::Treatment;
use evenkeel_core::statistics::paired_ratio;
use std::fmt;

/// A window this near to the most is at the most.
const AT_MOST: f64 = 0.95;

/// What keeps the ratio of orders from that of the shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Host b wants less than its window.
    Demand,
    /// The window of host b is the largest there may be.
    MostWindow,
    /// Neither the demand nor the window: the ratio is the law's own.
    Neither,
}

impl fmt::Display for Bound {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Demand => "demand",
            Self::MostWindow => "maximum window",
            Self::Neither => "neither",
        })
    }
}

pub fn judge(plan: &Plan, setting: &Setting, runs: &[Run]) -> Judgement {
    let cells = cells(plan, runs);
    let parts = || plan.parts.iter();
    let threshold = |part: &Part| {
        let ms = 1e3 * THRESHOLD_S;
        (part.name.clone(), "latency_ms", ms, format!("threshold {ms:.0} ms"))
    };
    Judgement {
        headline: headline(plan, &cells),
        published: "With four times the shares host b made 1.78 times the orders of host a, and 0.96 times \
                    without control. Both together made 1.12 times as many as without control.",
        source: "PARDA, FAST 2009, table 7: two databases of a DVD Store on a shared array",
        rule: "The ratio is bound by demand if host b wants less than its window on average. It is bound by \
               the maximum window if its window is within 5 % of it."
            .to_owned(),
        setting: what(plan, setting),
        findings: parts().filter_map(|part| finding(part, &cells)).collect(),
        sentences: parts().flat_map(|part| sentences(part, &cells)).collect(),
        caveats: caveats(runs),
        references: parts().filter(|part| most(part) == Some(PUBLISHED_MOST)).flat_map(references).collect(),
        guides: parts().map(threshold).collect(),
        ..Judgement::default()
    }
}

fn of<'a>(part: &Part, cells: &'a [Cell<'a>], wanted: Treatment) -> Option<&'a Cell<'a>> {
    cells.iter().find(|cell| cell.part.name == part.name && cell.level("way") == wanted.name())
}

/// What came out at the first most window.
fn headline(plan: &Plan, cells: &[Cell<'_>]) -> String {
    let first = plan.parts.iter().find(|part| cells.iter().any(|cell| cell.part.name == part.name));
    let ratio = |wanted: Treatment| {
        let ratio = of(first?, cells, wanted)?.mean("orders_ratio")?;
        let by = match wanted {
            Treatment::Uncontrolled => "uncontrolled",
            Treatment::Parda => "by the published law",
            Treatment::Evenkeel => "by Evenkeel",
        };
        Some(format!("{ratio:.2} {by}"))
    };
    let ratios: Vec<String> = Treatment::ALL.into_iter().filter_map(ratio).collect();
    match ratios.is_empty() {
        true => "No orders on both hosts yet".to_owned(),
        false => format!(
            "Orders of host b, with four times the shares, as a multiple of those of host a: {}",
            ratios.join(", ")
        ),
    }
}

fn what(plan: &Plan, setting: &Setting) -> String {
    let rounds = plan.parts.iter().map(|part| part.repeats).max().unwrap_or(0);
    format!(
        "Two MariaDBs with a DVD Store of {} each, {} clients without think time; data on one simulated array of six \
         spindles of 5.7 ms, redo logs on another without limits; threshold {:.0} ms, a window every {} s; \
         {} measured after {} of load, {}",
        setting.size,
        setting.clients,
        1e3 * THRESHOLD_S,
        setting.period_s,
        format::seconds(setting.duration_s),
        format::seconds(setting.warm_up_s),
        format::counted(rounds as usize, "round"),
    )
}

/// One round has no spread, and nothing can be told from it.
fn finding(part: &Part, cells: &[Cell<'_>]) -> Option<Finding> {
    let law = of(part, cells, Treatment::Parda)?.estimate("orders_ratio")?;
    let known = law.low().zip(law.high()).and_then(|(low, high)| match () {
        () if low > 1.0 => Some(true),
        () if high < 1.0 => Some(false),
        () => None,
    });
    let numbers = Treatment::ALL.into_iter().filter_map(|wanted| {
        let ratio = of(part, cells, wanted)?.estimate("orders_ratio")?;
        let interval = ratio.low().zip(ratio.high());
        Some(Number { name: format!("{}_orders_ratio", wanted.name()), value: ratio.mean, interval })
    });
    Some(Finding {
        name: "orders-follow-shares",
        part: part.name.clone(),
        outcome: Outcome::of(known),
        published: format!("{}: by its law host b makes more orders than host a", part.title),
        here: format!("{} times as many.", format::significant(law.mean, 3)),
        numbers: numbers.collect(),
    })
}

/// What bounds each way, and what both hosts make beside what they make without control.
fn sentences(part: &Part, cells: &[Cell<'_>]) -> Vec<(String, String)> {
    let said = |wanted: Treatment| {
        let cell = of(part, cells, wanted)?;
        let bound = bound(cell)?;
        let kept = of(part, cells, Treatment::Uncontrolled).and_then(|free| kept(cell, free));
        let kept = kept.map_or_else(String::new, |kept| {
            format!(", and both hosts make {kept} of their orders without control")
        });
        Some((part.name.clone(), format!("By {} the ratio is bound by {bound}{kept}.", words(wanted))))
    };
    [Treatment::Parda, Treatment::Evenkeel].into_iter().filter_map(said).collect()
}

/// Orders of both hosts over those without control, round by round.
fn kept(cell: &Cell<'_>, free: &Cell<'_>) -> Option<String> {
    let total = |run: &Run| {
        NAMES.iter().map(|host| run.figure(&format!("orders_per_minute@{host}"))).sum::<Option<f64>>()
    };
    let pairs = cell.runs.iter().filter_map(|run| {
        let other = free.runs.iter().find(|other| other.repeat == run.repeat)?;
        Some((total(run)?, total(other)?))
    });
    paired_ratio(&pairs.collect::<Vec<_>>()).map(|ratio| format::ratio(&ratio))
}

/// What bounds the ratio by a law; nothing is bound without one.
fn bound(cell: &Cell<'_>) -> Option<Bound> {
    way(cell.level("way")).filter(|way| *way != Treatment::Uncontrolled)?;
    let (window, wanted) = (cell.mean("window@b")?, cell.mean("wanted@b")?);
    Some(match () {
        () if window >= AT_MOST * f64::from(most(cell.part)?) => Bound::MostWindow,
        () if wanted < window => Bound::Demand,
        () => Bound::Neither,
    })
}

fn references(part: &Part) -> Vec<Reference> {
    [(Treatment::Uncontrolled, UNCONTROLLED), (Treatment::Parda, PARDA)]
        .map(|(way, published)| reference(part, way, &published))
        .to_vec()
}

fn reference(part: &Part, way: Treatment, published: &Published) -> Reference {
    let mut figures = vec![("orders_ratio".to_owned(), published.ratio())];
    for (host, (orders, ms)) in NAMES.iter().zip(published.orders) {
        figures.extend([(format!("orders_per_minute@{host}"), orders), (format!("order_ms@{host}"), ms)]);
    }
    for (host, (ios, ms)) in NAMES.iter().zip(published.storage.into_iter().flatten()) {
        figures.extend([(format!("ios_per_s@{host}"), ios), (format!("latency_ms@{host}"), ms)]);
    }
    Reference { part: part.name.clone(), words: words(way).to_owned(), figures }
}

fn caveats(runs: &[Run]) -> Vec<Caveat> {
    let fixed = [
        (
            "one-machine",
            "Databases, clients, hosts and the array's clock shared the CPUs of one machine: orders per \
             minute hold for this machine only. Where CPUs are short, both wait for more than the array.",
        ),
        (
            "array-is-a-model",
            "The array is a model: no cache, no cost of seeks, no other load. It was chosen slower than the published one for \
             the reason above.",
        ),
        (
            "beta-is-computed",
            "Beta is computed from what hosts report once a period; the law uses the same figures.",
        ),
    ];
    let of_run = |run: &Run| {
        let place = format!("{}, {}, round {}, ", run.part, run.levels.join(" "), run.repeat);
        run.caveats.iter().map(|caveat| caveat.clone().of(&place)).collect::<Vec<_>>()
    };
    let fixed = fixed.map(|(code, text)| Caveat::new(code, Severity::Note, text));
    fixed.into_iter().chain(runs.iter().flat_map(of_run)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{plan, run};
    use super::*;

    #[test]
    fn what_bounds_the_ratio_is_told_by_the_favoured_host() {
        let bound_of = |wanted_way, window: f64, wants: f64| {
            let mut run = run(wanted_way, 32, 1, [1.0, 1.0]);
            run.set("window@b", window);
            run.set("wanted@b", wants);
            let (plan, runs) = (plan(), [run]);
            bound(&cells(&plan, &runs)[0])
        };
        assert_eq!(bound_of(Treatment::Parda, 31.0, 20.0), Some(Bound::MostWindow));
        assert_eq!(bound_of(Treatment::Parda, 20.0, 15.0), Some(Bound::Demand));
        assert_eq!(bound_of(Treatment::Evenkeel, 10.0, 15.0), Some(Bound::Neither));
        assert_eq!(bound_of(Treatment::Uncontrolled, 32.0, 15.0), None);
    }
}
