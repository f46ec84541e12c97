//! Words for verdicts, and for where they hold.

use crate::format;
use evenkeel_core::experiment::{self, Verdict};
use evenkeel_study::compare::{Carried, Compared, Parted};

const UNIT: &str = " requests/s";

pub fn wanted(verdict: Verdict) -> Option<experiment::Side> {
    match verdict {
        Verdict::Worse => Some(experiment::Side::Worse),
        Verdict::Better => Some(experiment::Side::Better),
        _ => None,
    }
}

/// Where it is worse, or better, whatever it is elsewhere.
pub fn places(compared: &Compared) -> Vec<String> {
    let Some(wanted) = wanted(compared.verdict) else { return Vec::new() };
    let parted = compared.parted.iter().filter(|parted| parted.side == wanted);
    let parted = parted.map(|parted| place(&parted.label, Some(parted.rate_per_s)));
    let carried = compared.carried.iter().filter(|carried| carried.side == wanted);
    let carried = carried.map(|carried| carried.label.clone()).filter(|label| !label.is_empty());
    by_themselves(compared).into_iter().chain(parted).chain(carried).collect()
}

/// Of these the rates at which both sides have a figure.
pub fn by_themselves(compared: &Compared) -> Vec<String> {
    let Some(wanted) = wanted(compared.verdict) else { return Vec::new() };
    let conditions = compared.conditions.iter().filter(|condition| condition.by_itself == Some(wanted));
    let conditions = conditions.map(|condition| place(&condition.label, condition.rate_per_s));
    conditions.filter(|place| !place.is_empty()).collect()
}

/// ` at 50, 100 and 200 requests/s`: the unit once, where there are rates alone.
pub fn at(places: &[String]) -> String {
    let rate =
        |place: &String| Some(place.strip_suffix(UNIT)?.to_owned()).filter(|rate| !rate.contains(", "));
    match places.iter().map(rate).collect::<Option<Vec<String>>>() {
        _ if places.is_empty() => String::new(),
        Some(rates) => format!(" at {}{UNIT}", format::listed(&rates)),
        None => format!(" at {}", format::listed(places)),
    }
}

/// Series and rate, as far as there are several.
pub fn place(label: &str, rate_per_s: Option<f64>) -> String {
    let rate = rate_per_s.map(|rate| format!("{}{UNIT}", format::short(rate)));
    let label = Some(label.to_owned()).filter(|label| !label.is_empty());
    [label, rate].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

pub fn verdict(verdict: Verdict, margin: f64) -> String {
    let within = format!(", within {}", format::percent(100.0 * margin));
    format!("{}{}", word(verdict), if verdict == Verdict::Same { within.as_str() } else { "" })
}

pub fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Same => "the same",
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::NotKnown { .. } => "too close to tell",
    }
}

pub fn side(side: experiment::Side) -> &'static str {
    if side == experiment::Side::Better { "better" } else { "worse" }
}

pub fn carried_line(carried: &Carried) -> String {
    let label = if carried.label.is_empty() { String::new() } else { format!("{}: ", carried.label) };
    let (most, least) = (format::short(carried.at_most), format::short(carried.at_least));
    let times = format::significant(carried.at_least / carried.at_most, 3);
    match carried.side {
        experiment::Side::Better => {
            format!("{label}carries at most {most}/s, then at least {least}/s, {times} times as much")
        }
        experiment::Side::Worse => format!("{label}carries at least {least}/s, then at most {most}/s"),
    }
}

pub fn parted_line(parted: &Parted) -> String {
    let place = place(&parted.label, Some(parted.rate_per_s));
    let [first, second] = [parted.runs.0, parted.runs.1].map(|count| format::counted(count, "run"));
    let is_better = parted.side == experiment::Side::Better;
    let (before, after) = if is_better { ("none", "all") } else { ("all", "none") };
    format!("{place}: carried in {before} of {first}, then in {after} of {second}")
}
