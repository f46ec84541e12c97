//! What the runs come to, beside the published table.

use super::record::Setting;
use super::{NAMES, THRESHOLD_S, most};
use crate::format;
use crate::harness::{
    Cell, Claim, Judgement, Number, Part, Plan, Reference, Run, cell, cells, findings, of_runs, standing,
};
use crate::shares::{way, words};
use evenkeel_core::share::experiment::Treatment;
use evenkeel_core::statistics::paired_ratio;

/// A window this near to the most is at the most.
const AT_MOST: f64 = 0.95;
/// The most window of the published runs.
const PUBLISHED_MOST: u32 = 32;

const CLAIM: Claim = Claim::above("orders-follow-shares", None, "orders_ratio", &["parda"], None)
    .published("by its law host b makes more orders than host a")
    .here("parda_orders_ratio", "it makes {} times as many");

/// Of each host orders per minute and the milliseconds of one; I/Os per second and their milliseconds, where they were told.
const FIGURES: [&str; 8] = [
    "orders_per_minute@a",
    "order_ms@a",
    "orders_per_minute@b",
    "order_ms@b",
    "ios_per_s@a",
    "latency_ms@a",
    "ios_per_s@b",
    "latency_ms@b",
];
const TABLE_7: [(Treatment, &[f64]); 2] = [
    (Treatment::Uncontrolled, &[8_799.0, 213.0, 8_484.0, 221.0, 615.0, 20.4, 588.0, 20.5]),
    (Treatment::Parda, &[6_952.0, 273.0, 12_356.0, 151.0]),
];

const STANDING: [(&str, &str); 3] = [
    (
        "one-machine",
        "Databases, clients, hosts and the array's clock shared the CPUs of one machine: orders per minute hold for this \
         machine only. Where CPUs are short, both wait for more than the array.",
    ),
    (
        "array-is-a-model",
        "The array is a model: no cache, no cost of seeks, no other load. It is slower than the published one for the reason \
         above.",
    ),
    (
        "beta-is-computed",
        "Beta is computed from what hosts report once a period; the law uses the same figures.",
    ),
];

pub fn judge(plan: &Plan, setting: &Setting, runs: &[Run]) -> Judgement {
    let cells = cells(plan, runs);
    let parts = || plan.parts.iter();
    let mut findings = findings(&[CLAIM], plan, &cells);
    for (finding, part) in findings.iter_mut().zip(parts()) {
        let number = |way: Treatment| {
            let ratio = of(part, &cells, way)?.estimate("orders_ratio")?;
            Some(Number::mean(format!("{}_orders_ratio", way.name()), &ratio))
        };
        finding.numbers.extend([Treatment::Uncontrolled, Treatment::Evenkeel].into_iter().filter_map(number));
    }
    let ms = 1e3 * THRESHOLD_S;
    Judgement {
        headline: headline(plan, &cells),
        published: "With four times the shares host b made 1.78 times the orders of host a, and 0.96 times \
                    without control. Both together made 1.12 times as many as without control.",
        source: "PARDA, FAST 2009, table 7: two databases of a DVD Store on a shared array",
        rule: "The ratio is bound by demand if host b wants less than its window on average. It is bound by \
               the maximum window if its window is within 5 % of it."
            .to_owned(),
        setting: what(setting),
        findings,
        sentences: parts().flat_map(|part| sentences(part, &cells)).collect(),
        caveats: standing(STANDING).into_iter().chain(of_runs(runs)).collect(),
        references: parts().filter(|part| most(part) == Some(PUBLISHED_MOST)).flat_map(references).collect(),
        guides: parts()
            .map(|part| (part.name.clone(), "latency_ms", ms, format!("threshold {ms:.0} ms")))
            .collect(),
        ..Judgement::default()
    }
}

fn of<'a, 'b>(part: &Part, cells: &'b [Cell<'a>], way: Treatment) -> Option<&'b Cell<'a>> {
    cell(cells, &part.name, &[way.name()])
}

/// What came out at the first most window.
fn headline(plan: &Plan, cells: &[Cell<'_>]) -> String {
    let first = plan.parts.iter().find(|part| cells.iter().any(|cell| cell.part.name == part.name));
    let ratio = |way: Treatment| {
        let ratio = of(first?, cells, way)?.mean("orders_ratio")?;
        let by = if way == Treatment::Uncontrolled { "" } else { "by " };
        Some(format!("{ratio:.2} {by}{}", words(way)))
    };
    let ratios: Vec<String> = Treatment::ALL.into_iter().filter_map(ratio).collect();
    format!(
        "Orders of host b, with four times the shares, as a multiple of those of host a: {}",
        if ratios.is_empty() { "not measured".to_owned() } else { ratios.join(", ") }
    )
}

fn what(setting: &Setting) -> String {
    let (size, clients, period_s) = (&setting.size, setting.clients, setting.period_s);
    let [warm_up, measured] = [setting.warm_up_s, setting.duration_s].map(format::seconds);
    format!(
        "Two MariaDBs with a DVD Store of {size} each, {clients} clients without think time; data on one simulated array of six \
         spindles of 5.7 ms, redo logs on another without limits; threshold {:.0} ms, a window every {period_s} s; \
         {measured} measured after {warm_up} of load",
        1e3 * THRESHOLD_S
    )
}

/// What bounds each way, and what both hosts make beside what they make without control.
fn sentences(part: &Part, cells: &[Cell<'_>]) -> Vec<(String, String)> {
    let said = |way: Treatment| {
        let cell = of(part, cells, way)?;
        let bound = bound(cell)?;
        let kept = of(part, cells, Treatment::Uncontrolled).and_then(|free| kept(cell, free));
        let kept = kept.map(|kept| format!(", and both hosts make {kept} of their orders without control"));
        let kept = kept.unwrap_or_default();
        Some((part.name.clone(), format!("By {} the ratio is bound by {bound}{kept}.", words(way))))
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

/// What keeps the ratio of orders from that of the shares by a law; nothing is bound without one.
fn bound(cell: &Cell<'_>) -> Option<&'static str> {
    way(cell.level("way")).filter(|way| *way != Treatment::Uncontrolled)?;
    let (window, wanted) = (cell.mean("window@b")?, cell.mean("wanted@b")?);
    Some(match () {
        () if window >= AT_MOST * f64::from(most(cell.part)?) => "maximum window",
        () if wanted < window => "demand",
        () => "neither",
    })
}

fn references(part: &Part) -> [Reference; 2] {
    TABLE_7.map(|(way, values)| {
        let ratio = ("orders_ratio", values[2] / values[0]);
        let figures = FIGURES.into_iter().zip(values.iter().copied());
        Reference::of(&part.name, words(way), [ratio].into_iter().chain(figures))
    })
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
        assert_eq!(bound_of(Treatment::Parda, 31.0, 20.0), Some("maximum window"));
        assert_eq!(bound_of(Treatment::Parda, 20.0, 15.0), Some("demand"));
        assert_eq!(bound_of(Treatment::Evenkeel, 10.0, 15.0), Some("neither"));
        assert_eq!(bound_of(Treatment::Uncontrolled, 32.0, 15.0), None);
    }
}
