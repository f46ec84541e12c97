//! What the runs come to, beside the published figures.

use super::{Setting, signed, words};
use crate::format;
use crate::harness::{Cell, Finding, Judgement, Number, Part, Plan, Reference, Run, cells, standing};
use evenkeel_core::caveat::Caveat;
use evenkeel_core::share::experiment::{Experiment, Published, Treatment, experiments};

/// Latency counts as at the threshold within this, percent.
const NEAR_PERCENT: f64 = 10.0;

const PUBLISHED: &str = "Hosts adapt their windows to the latency that all of them report. They get the \
                         device in proportion to their shares, and its latency stays at a threshold.";

/// Where it was published.
const SOURCE: &str = "PARDA, FAST 2009, section 5: hosts of ESX on an array of ten disks";

pub fn judge(plan: &Plan, setting: Setting, runs: &[Run]) -> Judgement {
    let cells = cells(plan, runs);
    let experiments = experiments();
    let of = |part: &Part| experiments.iter().find(|experiment| experiment.name == part.name);
    let parts = || plan.parts.iter().filter_map(|part| Some((part, of(part)?)));
    Judgement {
        headline: headline(&cells),
        published: PUBLISHED,
        source: SOURCE,
        rule: format!(
            "Shares count as reached when each host has its part of the device within 10 % for five \
             periods. Latency counts as at the threshold L within {NEAR_PERCENT} %, and below it only while \
             windows limit a host."
        ),
        setting: what(plan, setting, &cells),
        findings: parts().flat_map(|(part, _)| findings(part, &cells)).collect(),
        caveats: caveats(setting.live),
        references: parts().flat_map(|(_, experiment)| references(experiment)).collect(),
        guides: parts().map(|(part, experiment)| threshold(part, experiment)).collect(),
        ..Judgement::default()
    }
}

fn of_way<'a>(cells: &'a [Cell<'a>], way: Treatment) -> impl Iterator<Item = &'a Cell<'a>> + Clone {
    cells.iter().filter(move |cell| cell.level("way") == way.name())
}

fn is_judged(cell: &Cell<'_>) -> bool {
    cell.mean("shares_judged").is_some_and(|judged| judged > 0.0)
}

fn headline(cells: &[Cell<'_>]) -> String {
    let [ours, theirs] = [Treatment::Evenkeel, Treatment::Parda].map(|way| reached(of_way(cells, way)));
    let [our_latency, their_latency] =
        [Treatment::Evenkeel, Treatment::Parda].map(|way| most_off(of_way(cells, way)));
    let latency = match (our_latency, their_latency) {
        (Some(ours), Some(theirs)) => format!("{ours} off the threshold instead of {theirs}"),
        (Some(ours), None) => format!("{ours} off the threshold, by the published law not measured"),
        (None, Some(theirs)) => format!("not measured, by the published law {theirs} off the threshold"),
        (None, None) => "not measured".to_owned(),
    };
    format!("Shares within 10 % {ours}, by the published law {theirs}; latency {latency}")
}

/// When the shares were reached, in the worst experiment that is judged by them.
fn reached<'a>(cells: impl Iterator<Item = &'a Cell<'a>> + Clone) -> String {
    if cells.clone().next().is_none() {
        return "not measured".to_owned();
    }
    let judged = cells.filter(|cell| is_judged(cell));
    let periods: Option<Vec<f64>> = judged.map(|cell| cell.mean("periods_to_share")).collect();
    match periods.map(|periods| periods.into_iter().reduce(f64::max)) {
        None => "not in every experiment".to_owned(),
        Some(None) => "not checked".to_owned(),
        Some(Some(periods)) => format!("after {}", format::counted(periods.round() as usize, "period")),
    }
}

/// The most by which the latency was below the threshold while somebody was held back, and above it.
/// `None` where nothing was measured; that nobody was ever held back is no gap.
fn most_off<'a>(cells: impl Iterator<Item = &'a Cell<'a>> + Clone) -> Option<String> {
    let most = |figure: &'static str| cells.clone().filter_map(|cell| cell.mean(figure)).reduce(f64::max);
    let over = most("over_percent")?.max(0.0);
    Some(format!("{} to {} %", signed(-most("under_percent").unwrap_or(0.0).max(0.0)), signed(over)))
}

fn what(plan: &Plan, setting: Setting, cells: &[Cell<'_>]) -> String {
    let judged = of_way(cells, Treatment::Evenkeel).filter(|cell| is_judged(cell)).count();
    format!(
        "{} {}, in {judged} of which shares are checked, one run each, seed {}, a window every {} s; \
         simulated arrays that were \
         calibrated on table 3 and on table 7 without control",
        format::counted(plan.parts.len(), "experiment"),
        if setting.live { "in real time with fio as the clients" } else { "on the virtual clock" },
        plan.seed,
        setting.period_s
    )
}

/// Of the published law; ours stands beside it in the numbers.
fn findings(part: &Part, cells: &[Cell<'_>]) -> Vec<Finding> {
    let of = |way: Treatment| of_way(cells, way).find(|cell| cell.part.name == part.name);
    let Some(law) = of(Treatment::Parda) else { return Vec::new() };
    let numbers = |figures: &[&'static str]| -> Vec<Number> {
        let each =
            [Treatment::Parda, Treatment::Evenkeel].into_iter().filter_map(|way| Some((way, of(way)?)));
        each.flat_map(|(way, cell)| {
            figures.iter().filter_map(move |figure| {
                Some(Number::plain(&format!("{}_{figure}", way.name()), cell.mean(figure)?))
            })
        })
        .collect()
    };
    let finding = |name, known, published: &str, here: String, numbers| {
        Finding::of(name, &part.name, &format!("{}: {published}", part.name), known, here).with(numbers)
    };
    let is_reached = is_judged(law).then(|| law.mean("periods_to_share").is_some());
    // Below the threshold it may never have been with somebody held back; above it, it is a figure of every run.
    let off =
        law.mean("over_percent").map(|over| over.max(law.mean("under_percent").unwrap_or(0.0)).max(0.0));
    let [theirs, ours] =
        [Treatment::Parda, Treatment::Evenkeel].map(|way| of(way).map_or_else(|| "-".to_owned(), in_words));
    vec![
        finding(
            "shares-are-reached",
            is_reached,
            "each host gets its share",
            format!("The published law: {theirs}. Ours: {ours}."),
            numbers(&["periods_to_share", "share_error_percent"]),
        ),
        finding(
            "latency-at-threshold",
            off.map(|off| off <= NEAR_PERCENT),
            "latency stays at the threshold",
            off.map_or_else(
                || "The latency of the published law was not measured.".to_owned(),
                |off| format!("At most {} % off it by the published law.", format::short(off)),
            ),
            numbers(&["under_percent", "over_percent"]),
        ),
    ]
}

fn in_words(cell: &Cell<'_>) -> String {
    match (is_judged(cell), cell.mean("periods_to_share"), cell.mean("share_error_percent")) {
        (true, Some(periods), Some(error)) => {
            let periods = format::counted(periods.round() as usize, "period");
            format!("after {periods}, in the end {error:.1} % off")
        }
        (true, None, Some(error)) => format!("never, in the end {error:.1} % off"),
        _ => "not checked".to_owned(),
    }
}

fn references(experiment: &Experiment) -> Vec<Reference> {
    let of = |way: Treatment| {
        let published = experiment.published(way);
        (published != Published::default()).then(|| reference(experiment, way, &published))
    };
    [Treatment::Uncontrolled, Treatment::Parda].into_iter().filter_map(of).collect()
}

fn reference(experiment: &Experiment, way: Treatment, published: &Published) -> Reference {
    let whole = [
        ("total_iops", published.iops),
        ("latency_ms", published.latency_s.map(|seconds| 1e3 * seconds)),
        ("orders_ratio", published.orders),
    ];
    let whole = whole.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let mut reference = Reference::of(experiment.name, words(way), whole);
    let hosts = published.hosts.iter().map(|(host, iops)| (format!("iops@{}", host + 1), *iops));
    reference.figures.extend(hosts);
    reference
}

fn threshold(part: &Part, experiment: &Experiment) -> (String, &'static str, f64, String) {
    let ms = 1e3 * experiment.threshold_s;
    (part.name.clone(), "latency_ms", ms, format!("threshold {ms:.0} ms"))
}

fn caveats(live: bool) -> Vec<Caveat> {
    let last = match live {
        true => {
            "One run each. Hosts, clients and the array's clock shared the CPUs of one machine, so that latencies include its \
             delays. A client takes some tenths of a second to start, and they count."
        }
        false => "One run each: `live=yes` makes them in real time with fio as the clients.",
    };
    standing([
        (
            "array-is-a-model",
            "The array is a model: no cache, no cost of seeks, no other load. It was calibrated on the uncontrolled run of \
             table 3, and the six disks of table 7 on that table's own: these figures agree by construction.",
        ),
        (
            "published-latencies-are-read-as-near",
            "Latencies that were published for the published law in figures 8, 9 and 11 and table 6 are read as \
             \u{201c}near\u{201d} the threshold.",
        ),
        (
            "clients-are-models",
            "Mail and web servers of the publication's table 6 are clients that keep 32 reads outstanding.",
        ),
        ("shares-not-judged", "Shares are not checked where they cannot be met or are not wanted."),
        ("one-run-each", last),
    ])
    .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::Factor;
    use crate::harness::Outcome;

    fn plan() -> Plan {
        let ways = Factor::named("way", [("parda", ""), ("evenkeel", "")]);
        let part = Part { name: "table-6".into(), factors: vec![ways], repeats: 1, ..Part::default() };
        Plan { parts: vec![part], ..Plan::default() }
    }

    fn run(way: &str, figures: &[(&str, f64)]) -> Run {
        let mut run = Run { part: "table-6".into(), levels: vec![way.into()], repeat: 1, ..Run::default() };
        figures.iter().for_each(|(name, value)| run.set(name, *value));
        run
    }

    fn judged(runs: &[Run]) -> Judgement {
        judge(&plan(), Setting { period_s: 2.0, live: false }, runs)
    }

    #[test]
    fn what_was_never_measured_has_no_figure_and_is_not_said_to_hold() {
        let ours = run("evenkeel", &[("over_percent", 3.0), ("under_percent", 2.0)]);
        let said = judged(std::slice::from_ref(&ours)).headline;
        assert!(said.contains("by the published law not measured;"), "{said}");
        assert!(said.ends_with("3.0 % off the threshold, by the published law not measured"), "{said}");
        let said = judged(&[ours.clone(), run("parda", &[])]);
        let latency = said.findings.iter().find(|finding| finding.name == "latency-at-threshold").unwrap();
        assert_eq!(latency.outcome, Outcome::of(None));
        assert!(latency.here.contains("was not measured"), "{}", latency.here);
        let said = judged(&[ours, run("parda", &[("over_percent", 4.0)])]);
        let latency = said.findings.iter().find(|finding| finding.name == "latency-at-threshold").unwrap();
        assert_eq!(latency.outcome, Outcome::of(Some(true)), "nobody was held back");
        assert!(said.headline.contains("off the threshold instead of"), "{}", said.headline);
    }
}
